// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/QueryField.h"

#include "models/QueryText.h"
#include "widgets/Chips.h"
#include "widgets/Fonts.h"
#include "widgets/Theme.h"

#include <QCompleter>
#include <QFontMetricsF>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPainter>
#include <QStringListModel>
#include <QTimer>

#include <algorithm>

namespace modulelens::widgets {

namespace {

constexpr int kLeft = 30;
constexpr int kRight = 28;
constexpr int kLine = 24;
constexpr int kSmallestEdit = 96;
constexpr int kPauseMilliseconds = 150;

Chip chipOf(const QString& term) {
    return {term, ChipKind::Token, {}, true};
}

} // namespace

QueryField::QueryField(QWidget* parent)
    : QFrame(parent), m_edit(new QLineEdit(this)), m_pause(new QTimer(this)), m_completions(new QStringListModel(this)) {
    setAccessibleName(tr("Registry query"));
    m_edit->setProperty("bare", true);
    m_edit->setAccessibleName(tr("Search the registry"));
    m_edit->setPlaceholderText(tr("Search, or model: tag: latency<2ms"));
    m_edit->installEventFilter(this);
    setFocusProxy(m_edit);
    auto* completer = new QCompleter(m_completions, m_edit);
    completer->setCaseSensitivity(Qt::CaseInsensitive);
    m_edit->setCompleter(completer);
    m_pause->setSingleShot(true);
    m_pause->setInterval(kPauseMilliseconds);
    connect(m_pause, &QTimer::timeout, this, &QueryField::announce);
    connect(m_edit, &QLineEdit::textEdited, this, [this] { m_pause->start(); });
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

QString QueryField::query() const {
    QStringList words = m_terms;
    const QString typed = m_edit->text().trimmed();
    if (!typed.isEmpty()) {
        words.append(typed);
    }
    return words.join(u' ');
}

void QueryField::setQuery(const QString& query) {
    m_pause->stop();
    m_terms.clear();
    QStringList free;
    for (const QString& word : models::splitQuery(query)) {
        (models::isQueryTerm(word) ? m_terms : free).append(word);
    }
    m_edit->setText(free.join(u' '));
    arrange();
}

void QueryField::setError(const QString& text, int position) {
    if (text != m_error || position != m_errorPosition) {
        m_error = text;
        m_errorPosition = position;
        setAccessibleDescription(text);
        arrange();
    }
}

void QueryField::setCompletions(const QStringList& words) {
    // The completer itself stays: its list may be open, and taking that away takes the focus out of the text.
    if (words != m_completions->stringList()) {
        m_completions->setStringList(words);
    }
}

void QueryField::takeFinishedTerms() {
    QStringList free;
    bool took = false;
    for (const QString& word : models::splitQuery(m_edit->text())) {
        if (models::isQueryTerm(word)) {
            m_terms.append(word);
            took = true;
        } else {
            free.append(word);
        }
    }
    if (took) {
        m_edit->setText(free.join(u' '));
        arrange();
    }
}

void QueryField::announce() {
    m_pause->stop();
    emit queryChanged(query());
}

QueryField::Placement QueryField::place(int width) const {
    Placement placement;
    int x = kLeft;
    int y = 2;
    const int right = width - kRight;
    for (const QString& term : m_terms) {
        const int wide = std::min(chipWidth(chipOf(term)), right - kLeft);
        if (x > kLeft && x + wide > right) {
            x = kLeft;
            y += kLine;
        }
        placement.chips.append(QRect(x, y + 2, wide, kHeaderChipHeight));
        x += wide + 4;
    }
    if (x > kLeft && x + kSmallestEdit > right) {
        x = kLeft;
        y += kLine;
    }
    placement.edit = QRect(x + 2, y, right - x - 2, kLine);
    placement.boxHeight = y + kLine + 2;
    placement.height = placement.boxHeight;
    if (!m_error.isEmpty()) {
        const QFontMetrics metrics(uiFont(11));
        placement.height += metrics.boundingRect(QRect(0, 0, width - 8, 400), Qt::TextWordWrap, m_error).height() + 10;
    }
    return placement;
}

void QueryField::arrange() {
    const Placement placement = place(width());
    m_edit->setGeometry(placement.edit);
    m_edit->setPlaceholderText(m_terms.isEmpty() ? tr("Search, or model: tag: latency<2ms") : tr("add a filter"));
    setFixedHeight(placement.height);
    updateGeometry();
    update();
}

QSize QueryField::sizeHint() const {
    return {240, place(std::max(width(), 120)).height};
}

int QueryField::heightForWidth(int width) const {
    return place(width).height;
}

void QueryField::resizeEvent(QResizeEvent*) {
    arrange();
}

void QueryField::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    const Placement placement = place(width());
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const bool focus = m_edit->hasFocus();
    const QColor border = !m_error.isEmpty() ? t.bad : focus ? t.accent : t.line2;
    const double inset = focus ? 1 : .5;
    painter.setPen(QPen(border, focus ? 2 : 1));
    painter.setBrush(t.surface);
    painter.drawRoundedRect(QRectF(inset, inset, width() - 2 * inset, placement.boxHeight - 2 * inset), 4, 4);
    paintIcon(painter, QRectF(8, 6, 16, 16), Icon::Search, t.text2);
    for (int i = 0; i < m_terms.size(); ++i) {
        const QRect& box = placement.chips[i];
        painter.setClipRect(box);
        paintChip(painter, box.x(), box.center().y() + 1, chipOf(m_terms[i]), kHeaderChipHeight);
    }
    painter.setClipping(false);
    if (!m_terms.isEmpty() || !m_edit->text().isEmpty()) {
        paintIcon(painter, QRectF(width() - 22, placement.boxHeight - 21, 14, 14), Icon::Close, t.text2);
    }
    if (!m_error.isEmpty()) {
        painter.setPen(t.bad);
        painter.setFont(uiFont(11));
        painter.drawText(QRect(4, placement.boxHeight + 6, width() - 8, height()), Qt::TextWordWrap, m_error);
        const int typedFrom = static_cast<int>(query().size() - m_edit->text().trimmed().size());
        if (m_errorPosition >= typedFrom) {
            const QString before = m_edit->text().left(m_errorPosition - typedFrom);
            const double x = m_edit->x() + QFontMetricsF(m_edit->font()).horizontalAdvance(before) + 2;
            painter.setBrush(t.bad);
            painter.drawPolygon(QPolygonF(
                {{x, placement.boxHeight - 1.0}, {x - 4, placement.boxHeight + 4.0}, {x + 4, placement.boxHeight + 4.0}}));
        }
    }
}

void QueryField::mousePressEvent(QMouseEvent* event) {
    const Placement placement = place(width());
    for (int i = 0; i < m_terms.size(); ++i) {
        if (placement.chips[i].contains(event->pos())) {
            m_terms.removeAt(i);
            arrange();
            announce();
            return;
        }
    }
    if (event->position().x() > width() - kRight && event->position().y() < placement.boxHeight) {
        setQuery({});
        announce();
    }
    m_edit->setFocus(Qt::MouseFocusReason);
}

bool QueryField::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) {
        update();
    } else if (event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            takeFinishedTerms();
            announce();
            return true;
        }
        if (key->key() == Qt::Key_Backspace && m_edit->text().isEmpty() && !m_terms.isEmpty()) {
            // The last chip becomes text again, to be changed.
            m_edit->setText(m_terms.takeLast());
            arrange();
            m_pause->start();
            return true;
        }
        if (key->key() == Qt::Key_Down) {
            emit resultsRequested();
            return true;
        }
        if (key->key() == Qt::Key_Escape && !query().isEmpty()) {
            setQuery({});
            announce();
            return true;
        }
    }
    return QFrame::eventFilter(watched, event);
}

} // namespace modulelens::widgets
