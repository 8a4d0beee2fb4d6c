// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/CommandPalette.h"

#include "app/explorer/CommandText.h"
#include "app/explorer/Session.h"
#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/KeyCap.h"
#include "widgets/Theme.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFontMetricsF>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QToolButton>

#include <algorithm>
#include <utility>

namespace modulelens::explorer {

namespace {

using widgets::Theme;

constexpr int kWidth = 680;
constexpr int kRowHeight = 32;
constexpr int kInputHeight = 40;
constexpr int kGreatestListHeight = 12 * 32;
constexpr int kHeadHeight = 24;
constexpr int kCommandHeight = 28;   ///< First row of the foot; the keys are the second.
constexpr int kKeysHeight = 28;
constexpr int kFootHeight = kCommandHeight + kKeysHeight;
constexpr int kIndexRole = Qt::UserRole;      ///< Index of the command or version; heads of groups have none.
constexpr int kIsVersionRole = Qt::UserRole + 1;
constexpr int kNoteRole = Qt::UserRole + 2;
constexpr int kKeysRole = Qt::UserRole + 3;
constexpr int kIconRole = Qt::UserRole + 4;

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
        if (index.data(kIndexRole).isValid()) {
            paintRow(*painter, option, index);
        } else {
            paintHead(*painter, option.rect, index);
        }
    }
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override {
        return {200, index.data(kIndexRole).isValid() ? kRowHeight : kHeadHeight};
    }

private:
    static void paintHead(QPainter& painter, const QRect& box, const QModelIndex& index) {
        const Theme& t = Theme::current();
        painter.fillRect(box, t.window);
        const QRectF inside = QRectF(box).adjusted(16, 0, -16, 0);
        widgets::drawText(painter, inside, index.data().toString(), widgets::uiFont(11, QFont::DemiBold), t.text2);
        widgets::drawText(painter, inside, index.data(kNoteRole).toString(), widgets::uiFont(11), t.text2, Qt::AlignRight);
    }

    void paintRow(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
        const Theme& t = Theme::current();
        const QRect& box = option.rect;
        const bool isSelected = option.state.testFlag(QStyle::State_Selected);
        painter.fillRect(box, isSelected ? t.accentSoft : t.surface);
        if (isSelected) {
            painter.fillRect(box.x(), box.y(), 3, box.height(), t.accent);
        }
        widgets::paintIcon(painter, QRectF(box.x() + 16, box.y() + 8, 16, 16),
                           static_cast<widgets::Icon>(index.data(kIconRole).toInt()), t.text2);
        const QString name = index.data().toString();
        const QFont font = widgets::uiFont(12, QFont::Medium);
        const double keysLeft = paintKeys(painter, box, index.data(kKeysRole).toString());
        const double room = keysLeft - 16 - (box.x() + 44);
        const QFontMetricsF metrics(font);
        if (const qsizetype at = searched.isEmpty() ? -1 : name.indexOf(searched, 0, Qt::CaseInsensitive); at >= 0) {
            const double from = metrics.horizontalAdvance(name.left(at));
            const double to = std::min(room, metrics.horizontalAdvance(name.left(at + searched.size())));
            if (from < to) {
                painter.fillRect(QRectF(box.x() + 43 + from, box.y() + 7, to - from + 2, box.height() - 14), t.mark);
            }
        }
        const double used = widgets::drawText(painter, QRectF(box.x() + 44, box.y(), room, box.height()), name, font, t.text);
        if (room - used > 60) {
            widgets::drawText(painter, QRectF(box.x() + 56 + used, box.y(), room - used - 12, box.height()),
                              index.data(kNoteRole).toString(), widgets::uiFont(12), t.text2);
        }
    }

    /// Key caps at the right end; returns where they begin.
    static double paintKeys(QPainter& painter, const QRect& box, const QString& keys) {
        double right = box.right() - 15;
        QStringList caps = keys.split(u'+', Qt::SkipEmptyParts);
        std::reverse(caps.begin(), caps.end());
        for (const QString& cap : caps) {
            right -=
                widgets::paintKeyCap(painter, QPointF(right, box.y() + (box.height() - widgets::kKeyCapHeight) / 2.0), cap) + 4;
        }
        return right;
    }
};

} // namespace

CommandPalette::CommandPalette(Session& session, QWidget* window)
    : QFrame(window),
      m_session(session),
      m_task(session.pool()),
      m_scrim(new Scrim(window)),
      m_edit(new QLineEdit(this)),
      m_list(new QListWidget(this)),
      m_copy(new QToolButton(this)) {
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
    m_copy->setIcon(widgets::themedIcon(widgets::Icon::Copy));
    m_copy->setFocusPolicy(Qt::NoFocus);
    m_copy->setToolTip(tr("Copy the command (Ctrl+C)"));
    m_copy->setAccessibleName(tr("Copy the command"));
    connect(m_copy, &QToolButton::clicked, this, &CommandPalette::copyCommand);
    connect(m_list, &QListWidget::itemClicked, this, &CommandPalette::activate);
    connect(m_list, &QListWidget::currentRowChanged, this, [this] {
        m_copy->setVisible(!sameCommand().isEmpty());
        update();
    });
    hide();
    m_scrim->hide();
}

void CommandPalette::open(const QList<QAction*>& commands, const QString& address) {
    m_commands = commands;
    m_address = address;
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

void CommandPalette::addHead(const QString& title, qsizetype count) {
    auto* head = new QListWidgetItem(title, m_list);
    head->setData(kNoteRole, QString::number(count));
    head->setFlags(Qt::ItemIsEnabled);
}

void CommandPalette::showMatches(const QString& text, const QList<models::VersionInfo>& versions) {
    m_list->clear();
    static_cast<PaletteDelegate*>(m_list->itemDelegate())->searched = text.trimmed();
    QList<int> commands;
    for (int i = 0; i < m_commands.size(); ++i) {
        const QString words = m_commands[i]->text().remove(u'&');
        if (m_commands[i]->isEnabled() && words.contains(text.trimmed(), Qt::CaseInsensitive)) {
            commands.append(i);
        }
    }
    if (!commands.isEmpty()) {
        addHead(tr("Commands"), commands.size());
    }
    for (const int i : commands) {
        auto* item = new QListWidgetItem(m_commands[i]->text().remove(u'&'), m_list);
        item->setData(kIndexRole, i);
        const QVariant icon = m_commands[i]->property(kIconProperty);
        item->setData(kIconRole, icon.isValid() ? icon.toInt() : static_cast<int>(widgets::Icon::Play));
        item->setData(kKeysRole, m_commands[i]->shortcut().toString(QKeySequence::PortableText));
    }
    if (!versions.isEmpty()) {
        addHead(tr("Versions"), versions.size());
    }
    for (int i = 0; i < versions.size(); ++i) {
        auto* item = new QListWidgetItem(versions[i].shortName(), m_list);
        item->setData(kIndexRole, i);
        item->setData(kIsVersionRole, true);
        item->setData(kIconRole, static_cast<int>(widgets::Icon::Module));
        item->setData(kNoteRole, QString(versions[i].model + QStringLiteral(" · ") + versions[i].className));
    }
    if (m_list->count() == 0) {
        auto* none = new QListWidgetItem(tr("No command or version has this in its name."), m_list);
        none->setFlags(Qt::ItemIsEnabled);
    }
    step(1);
    arrange();
}

void CommandPalette::arrange() {
    int rows = 0;
    for (int i = 0; i < m_list->count() && rows < kGreatestListHeight; ++i) {
        rows += m_list->sizeHintForRow(i);
    }
    rows = std::min(rows, kGreatestListHeight);
    m_scrim->setGeometry(parentWidget()->rect().adjusted(0, kTopRowHeight, 0, 0));
    const int wide = std::min(kWidth, parentWidget()->width() - 32);
    setGeometry((parentWidget()->width() - wide) / 2 + 40, 4, wide, kInputHeight + 3 + rows + kFootHeight);
    m_edit->setGeometry(44, 3, wide - 60, kInputHeight - 6);
    m_list->setGeometry(1, kInputHeight + 2, wide - 2, rows);
    m_copy->setGeometry(wide - 36, height() - kFootHeight + 4, 24, 24);
    m_copy->setVisible(!sameCommand().isEmpty());
}

QString CommandPalette::sameCommand() const {
    const QListWidgetItem* item = m_list->currentItem();
    if (item == nullptr || !item->data(kIndexRole).isValid()) {
        return {};
    }
    const int index = item->data(kIndexRole).toInt();
    if (item->data(kIsVersionRole).toBool()) {
        return commandText(QStringLiteral("open %v"), m_versions.value(index).address(), {});
    }
    const QAction* command = m_commands.value(index);
    return command == nullptr ? QString()
                              : commandText(command->property(kCommandProperty).toString(), m_address, m_session.device());
}

void CommandPalette::copyCommand() {
    if (const QString command = sameCommand(); !command.isEmpty()) {
        QApplication::clipboard()->setText(command);
    }
}

/// Moves the current row by `by` rows, over the heads of groups.
void CommandPalette::step(int by) {
    int row = m_list->currentRow();
    do {
        row += by;
        if (row < 0 || row >= m_list->count()) {
            return;
        }
    } while (!m_list->item(row)->data(kIndexRole).isValid());
    m_list->setCurrentRow(row);
    if (row == 1) {
        // The head of the first group comes into sight with its first row.
        m_list->scrollToTop();
    }
}

void CommandPalette::activate(const QListWidgetItem* item) {
    if (item == nullptr || !item->data(kIndexRole).isValid()) {
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
        if (static_cast<QKeyEvent*>(event)->matches(QKeySequence::Copy) && !m_edit->hasSelectedText()) {
            copyCommand();
            return true;
        }
        switch (static_cast<QKeyEvent*>(event)->key()) {
            case Qt::Key_Up:
                step(-1);
                return true;
            case Qt::Key_Down:
                step(1);
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
    painter.fillRect(1, height() - kFootHeight, width() - 2, 1, t.line);
    const double commandTop = height() - kFootHeight + 3;
    if (const QString command = sameCommand(); command.isEmpty()) {
        widgets::drawText(painter, QRectF(16, commandTop, width() - 32, kCommandHeight), tr("In the window only"),
                          widgets::uiFont(11), t.text3);
    } else {
        const double after = 16 + widgets::drawText(painter, QRectF(16, commandTop, 100, kCommandHeight), tr("Same as"),
                                                    widgets::uiFont(11), t.text2);
        widgets::drawText(painter, QRectF(after + 12, commandTop, width() - after - 60, kCommandHeight), command,
                          widgets::monoFont(12), t.text, Qt::AlignLeft, Qt::ElideMiddle);
    }
    const double keysTop = height() - kKeysHeight;
    const double top = keysTop + (kKeysHeight - widgets::kKeyCapHeight) / 2.0 - 2;
    double x = 16;
    for (const auto& [cap, does] :
         {std::pair(QStringLiteral("↑ ↓"), tr("choose")), std::pair(QStringLiteral("Enter"), tr("run")),
          std::pair(QStringLiteral("Esc"), tr("close"))}) {
        x += widgets::keyCapWidth(cap);
        widgets::paintKeyCap(painter, QPointF(x, top), cap);
        x += 6 +
             widgets::drawText(painter, QRectF(x + 6, keysTop - 1, 120, kKeysHeight - 2), does, widgets::uiFont(11), t.text2);
        x += 16;
    }
}

} // namespace modulelens::explorer
