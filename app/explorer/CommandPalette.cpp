// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/CommandPalette.h"

#include "app/explorer/Session.h"
#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"

#include <QAction>
#include <QApplication>
#include <QFontMetricsF>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QStyledItemDelegate>

#include <algorithm>

namespace modulelens::explorer {

namespace {

using widgets::Theme;

constexpr int kWidth = 680;
constexpr int kRowHeight = 32;
constexpr int kInputHeight = 40;
constexpr int kGreatestRows = 12;
constexpr int kIndexRole = Qt::UserRole;      ///< Index of the command or version.
constexpr int kIsVersionRole = Qt::UserRole + 1;
constexpr int kNoteRole = Qt::UserRole + 2;
constexpr int kKeysRole = Qt::UserRole + 3;

constexpr int kTopRowHeight = 36;

/// Takes the strength out of the window under the palette. The mouse goes through it.
class Scrim : public QWidget {
public:
    explicit Scrim(QWidget* window) : QWidget(window) { setAttribute(Qt::WA_TransparentForMouseEvents); }

protected:
    void paintEvent(QPaintEvent*) override {
        QColor veil = Theme::current().window;
        veil.setAlphaF(.59F);
        QPainter(this).fillRect(rect(), veil);
    }
};

class PaletteDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QString searched;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const Theme& t = Theme::current();
        const QRect& box = option.rect;
        painter->fillRect(box, option.state.testFlag(QStyle::State_Selected) ? t.accentSoft : t.surface);
        if (option.state.testFlag(QStyle::State_Selected)) {
            painter->fillRect(box.x(), box.y(), 3, box.height(), t.accent);
        }
        const bool version = index.data(kIsVersionRole).toBool();
        widgets::paintIcon(*painter, QRectF(box.x() + 16, box.y() + 8, 16, 16),
                           version ? widgets::Icon::Module : widgets::Icon::Play, t.text2);
        const QString name = index.data().toString();
        const QFont font = widgets::uiFont(12, QFont::Medium);
        if (const qsizetype at = searched.isEmpty() ? -1 : name.indexOf(searched, 0, Qt::CaseInsensitive); at >= 0) {
            const QFontMetricsF metrics(font);
            const double from = metrics.horizontalAdvance(name.left(at));
            const double to = metrics.horizontalAdvance(name.left(at + searched.size()));
            painter->fillRect(QRectF(box.x() + 43 + from, box.y() + 7, to - from + 2, box.height() - 14), t.mark);
        }
        const double used =
            widgets::drawText(*painter, QRectF(box.x() + 44, box.y(), box.width() * .6, box.height()), name, font, t.text);
        widgets::drawText(*painter, QRectF(box.x() + 56 + used, box.y(), box.width() - 200 - used, box.height()),
                          index.data(kNoteRole).toString(), widgets::uiFont(12), t.text2);
        widgets::drawText(*painter, QRectF(box).adjusted(0, 0, -16, 0), index.data(kKeysRole).toString(), widgets::uiFont(11),
                          t.text2, Qt::AlignRight);
    }
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {200, kRowHeight}; }
};

} // namespace

CommandPalette::CommandPalette(Session& session, QWidget* window)
    : QFrame(window),
      m_session(session),
      m_task(session.pool()),
      m_scrim(new Scrim(window)),
      m_edit(new QLineEdit(this)),
      m_list(new QListWidget(this)) {
    setAccessibleName(tr("Command palette"));
    m_edit->setProperty("bare", true);
    m_edit->setFont(widgets::uiFont(15));
    m_edit->setPlaceholderText(tr("A command, a module or a version"));
    m_edit->setAccessibleName(m_edit->placeholderText());
    m_edit->installEventFilter(this);
    m_list->setItemDelegate(new PaletteDelegate(m_list));
    m_list->setFocusPolicy(Qt::NoFocus);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    connect(m_edit, &QLineEdit::textChanged, this, &CommandPalette::filter);
    connect(m_list, &QListWidget::itemClicked, this, &CommandPalette::activate);
    hide();
    m_scrim->hide();
}

void CommandPalette::open(const QList<QAction*>& commands) {
    m_commands = commands;
    m_versions.clear();
    m_focusBefore = QApplication::focusWidget();
    m_edit->clear();
    filter({});
    m_scrim->show();
    m_scrim->raise();
    show();
    raise();
    m_edit->setFocus();
}

void CommandPalette::filter(const QString& text) {
    showMatches(text, m_versions);
    if (text.trimmed().isEmpty() || !m_session.registry()) {
        m_task.cancel();
        m_versions.clear();
        showMatches(text, {});
        return;
    }
    registry::SearchRequest request;
    request.query = text.toStdString();
    request.limit = 8;
    m_task.run([registry = m_session.registry(), request](std::stop_token) { return registry->search(request); },
               [this, text](const base::Result<registry::SearchPage>& outcome) {
                   m_versions.clear();
                   if (outcome) {
                       for (const registry::VersionSummary& version : outcome->versions) {
                           m_versions.append(models::versionInfoOf(version));
                       }
                   }
                   showMatches(text, m_versions);
               });
}

void CommandPalette::showMatches(const QString& text, const QList<models::VersionInfo>& versions) {
    m_list->clear();
    static_cast<PaletteDelegate*>(m_list->itemDelegate())->searched = text.trimmed();
    for (int i = 0; i < m_commands.size(); ++i) {
        const QAction* command = m_commands[i];
        const QString words = command->text().remove(u'&');
        if (command->isEnabled() && words.contains(text.trimmed(), Qt::CaseInsensitive)) {
            auto* item = new QListWidgetItem(words, m_list);
            item->setData(kIndexRole, i);
            item->setData(kKeysRole, command->shortcut().toString(QKeySequence::NativeText));
        }
    }
    for (int i = 0; i < versions.size(); ++i) {
        auto* item = new QListWidgetItem(versions[i].shortName(), m_list);
        item->setData(kIndexRole, i);
        item->setData(kIsVersionRole, true);
        item->setData(kNoteRole, QString(versions[i].model + QStringLiteral(" · ") + versions[i].className));
    }
    m_list->setCurrentRow(0);
    const int rows = std::clamp(m_list->count(), 1, kGreatestRows);
    const QRect ground = parentWidget()->rect();
    m_scrim->setGeometry(ground.adjusted(0, kTopRowHeight, 0, 0));
    const int wide = std::min(kWidth, parentWidget()->width() - 32);
    setGeometry((parentWidget()->width() - wide) / 2 + 40, 4, wide, kInputHeight + 8 + rows * kRowHeight);
    m_edit->setGeometry(44, 3, wide - 60, kInputHeight - 6);
    m_list->setGeometry(1, kInputHeight + 2, wide - 2, rows * kRowHeight);
}

void CommandPalette::activate(const QListWidgetItem* item) {
    if (item == nullptr) {
        return;
    }
    const int index = item->data(kIndexRole).toInt();
    const bool isVersion = item->data(kIsVersionRole).toBool();
    const models::VersionInfo version = isVersion ? m_versions.value(index) : models::VersionInfo();
    QAction* command = isVersion ? nullptr : m_commands.value(index);
    finish();
    if (isVersion) {
        emit versionChosen(version);
    } else if (command != nullptr) {
        command->trigger();
    }
}

void CommandPalette::finish() {
    m_task.cancel();
    hide();
    if (m_focusBefore != nullptr && m_focusBefore->isVisible()) {
        m_focusBefore->setFocus();
    }
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::FocusOut && isVisible()) {
        hide();
    } else if (event->type() == QEvent::KeyPress) {
        switch (static_cast<QKeyEvent*>(event)->key()) {
            case Qt::Key_Up:
                m_list->setCurrentRow(std::max(0, m_list->currentRow() - 1));
                return true;
            case Qt::Key_Down:
                m_list->setCurrentRow(std::min(m_list->count() - 1, m_list->currentRow() + 1));
                return true;
            case Qt::Key_Return:
            case Qt::Key_Enter:
                activate(m_list->currentItem());
                return true;
            case Qt::Key_Escape:
                finish();
                return true;
            default:
                break;
        }
    }
    return QFrame::eventFilter(watched, event);
}

void CommandPalette::hideEvent(QHideEvent* event) {
    QFrame::hideEvent(event);
    m_scrim->hide();
}

void CommandPalette::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(t.line2);
    painter.setBrush(t.surface);
    painter.drawRoundedRect(QRectF(rect()).adjusted(.5, .5, -.5, -.5), 6, 6);
    painter.fillRect(1, kInputHeight, width() - 2, 2, t.accent);
    widgets::paintIcon(painter, QRectF(16, 12, 16, 16), widgets::Icon::Search, t.text2);
}

} // namespace modulelens::explorer
