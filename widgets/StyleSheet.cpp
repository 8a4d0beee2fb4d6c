// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/StyleSheet.h"

#include "widgets/Theme.h"

#include <QHash>

namespace modulelens::widgets {

namespace {

constexpr const char* kTemplate = R"(
QWidget[strip="true"] { background: @window; }
QWidget[surface="true"] { background: @surface; }
QMainWindow::separator { background: @line; width: 1px; height: 1px; }
QSplitter::handle { background: @line; }
QToolTip { background: @tip; color: @tipText; border: 0; padding: 6px 8px; }
QPushButton { background: @surface; color: @text; border: 1px solid @controlBorder; border-radius: 4px; padding: 0 10px; min-height: 26px; font-weight: 500; }
QPushButton:hover { background: @hover; }
QPushButton:pressed { background: @sel; }
QPushButton:focus { border: 2px solid @accent; padding: 0 9px; min-height: 24px; }
QPushButton:disabled { color: @text3; border-color: @line; }
QPushButton[link="true"] { border: 1px solid transparent; background: transparent; color: @accent; }
QPushButton[link="true"]:focus { border: 2px solid @accent; }
QToolButton { background: transparent; color: @text2; border: 1px solid transparent; border-radius: 4px; padding: 3px; }
QToolButton:hover { background: @hover; color: @text; }
QToolButton:pressed, QToolButton:checked { background: @sel; }
QToolButton:focus { border-color: @accent; }
QToolButton::menu-indicator { image: none; }
QToolButton[outlined="true"] { background: @surface; color: @text; border: 1px solid @controlBorder; border-radius: 4px; padding: 0 8px; min-height: 26px; }
QToolButton[narrow="true"] { padding: 0 2px; }
QComboBox { border: 0; min-height: 0; }
QToolButton[outlined="true"]:focus { border-color: @accent; }
QComboBox QHeaderView::section:first { padding-left: 16px; }
QStatusBar::item { border: 0; }
QAbstractItemView { background: @surface; color: @text; border: 1px solid @line2; selection-background-color: @accentSoft; selection-color: @text; outline: 0; }
QLineEdit { background: @surface; color: @text; border: 1px solid @line2; border-radius: 4px; padding: 0 6px; min-height: 26px; selection-background-color: @accentSoft; selection-color: @text; }
QLineEdit:focus { border: 2px solid @accent; padding: 0 5px; min-height: 24px; }
QLineEdit[bare="true"], QLineEdit[bare="true"]:focus { border: 0; background: transparent; padding: 0; min-height: 20px; }
QMenuBar { background: transparent; color: @text; }
QMenuBar::item { background: transparent; padding: 5px 10px; border-radius: 4px; }
QMenuBar::item:selected { background: @sel; }
QMenu { background: @surface; color: @text; border: 1px solid @line2; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 12px; border-radius: 3px; }
QMenu::item:selected { background: @accentSoft; }
QMenu::item:disabled { color: @text3; }
QMenu::separator { height: 1px; background: @line; margin: 4px 8px; }
QHeaderView { background: @window; border: 0; }
QHeaderView::section { background: @window; color: @text2; border: 0; border-bottom: 1px solid @line; padding: 0 8px; font-size: 11px; font-weight: 600; min-height: 23px; }
QHeaderView::section:first { padding-left: 16px; }
QStatusBar::item { border: 0; }
QAbstractItemView { background: @surface; color: @text; border: 0; selection-background-color: @accentSoft; selection-color: @text; outline: 0; }
QPlainTextEdit, QTextEdit { background: @surface; color: @text; border: 0; selection-background-color: @accentSoft; selection-color: @text; }
QScrollArea, QScrollArea > QWidget { border: 0; background: @surface; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: @scrollHandle; border-radius: 3px; margin: 2px; min-height: 24px; min-width: 24px; }
QAbstractScrollArea::corner { background: transparent; border: 0; }
QScrollBar::handle:hover { background: @line2; }
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page { background: transparent; border: 0; width: 0; height: 0; }
QDialog { background: @window; }
)";

} // namespace

QString styleSheetFor(const Theme& theme) {
    const QHash<QString, QColor> colours = {
        {QStringLiteral("window"), theme.window},
        {QStringLiteral("surface"), theme.surface},
        {QStringLiteral("hover"), theme.hover},
        {QStringLiteral("sel"), theme.sel},
        {QStringLiteral("line"), theme.line},
        {QStringLiteral("line2"), theme.line2},
        {QStringLiteral("text"), theme.text},
        {QStringLiteral("text2"), theme.text2},
        {QStringLiteral("text3"), theme.text3},
        {QStringLiteral("accent"), theme.accent},
        {QStringLiteral("accentSoft"), theme.accentSoft},
        {QStringLiteral("tip"), theme.tip},
        {QStringLiteral("tipText"), theme.tipText},
        {QStringLiteral("controlBorder"), theme.controlBorder},
        {QStringLiteral("scrollHandle"), theme.controlBorder},
    };
    const QString source = QString::fromLatin1(kTemplate);
    QString sheet;
    qsizetype from = 0;
    for (qsizetype at = source.indexOf(u'@'); at >= 0; at = source.indexOf(u'@', from)) {
        sheet += QStringView(source).mid(from, at - from);
        qsizetype end = at + 1;
        while (end < source.size() && source[end].isLetterOrNumber()) {
            ++end;
        }
        sheet += colours.value(source.mid(at + 1, end - at - 1)).name();
        from = end;
    }
    sheet += QStringView(source).mid(from);
    return sheet;
}

} // namespace modulelens::widgets
