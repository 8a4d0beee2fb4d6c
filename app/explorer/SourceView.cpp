// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/SourceView.h"

#include "widgets/Fonts.h"
#include "widgets/Theme.h"

#include <QFontMetricsF>
#include <QPaintEvent>
#include <QPainter>
#include <QTextBlock>
#include <QTextEdit>

#include <algorithm>
#include <cmath>

namespace modulelens::explorer {

namespace {
constexpr int kLeftInset = 16;
constexpr int kRightInset = 12;
constexpr int kFewestDigits = 3;
} // namespace

/// The column of line numbers.
class SourceView::Gutter : public QWidget {
public:
    explicit Gutter(SourceView* view) : QWidget(view), m_view(view) {}

protected:
    void paintEvent(QPaintEvent* event) override { m_view->paintGutter(event->rect()); }

private:
    SourceView* m_view;
};

SourceView::SourceView(QWidget* parent) : QPlainTextEdit(parent), m_gutter(new Gutter(this)) {
    setReadOnly(true);
    setLineWrapMode(QPlainTextEdit::NoWrap);
    setFont(widgets::monoFont(12));
    document()->setDocumentMargin(12);
    connect(this, &QPlainTextEdit::blockCountChanged, this, &SourceView::fitGutter);
    connect(this, &QPlainTextEdit::updateRequest, this, [this](const QRect& area, int scrolled) {
        if (scrolled != 0) {
            m_gutter->scroll(0, scrolled);
        } else {
            m_gutter->update(0, area.y(), m_gutter->width(), area.height());
        }
    });
    fitGutter();
}

int SourceView::gutterWidth() const {
    const auto digits = std::max<qsizetype>(kFewestDigits, QString::number(blockCount()).size());
    const double digit = QFontMetricsF(font()).horizontalAdvance(u'0');
    return kLeftInset + static_cast<int>(std::ceil(digit * static_cast<double>(digits))) + kRightInset;
}

void SourceView::fitGutter() {
    setViewportMargins(gutterWidth(), 0, 0, 0);
    const QRect inside = contentsRect();
    m_gutter->setGeometry(inside.left(), inside.top(), gutterWidth(), inside.height());
}

void SourceView::resizeEvent(QResizeEvent* event) {
    QPlainTextEdit::resizeEvent(event);
    fitGutter();
}

void SourceView::markLine(int line) {
    m_markedLine = line;
    const QTextBlock block = document()->findBlockByNumber(line - 1);
    if (line <= 0 || !block.isValid()) {
        setExtraSelections({});
        return;
    }
    QTextEdit::ExtraSelection mark;
    mark.cursor = QTextCursor(block);
    mark.format.setBackground(widgets::Theme::current().badSoft);
    mark.format.setProperty(QTextFormat::FullWidthSelection, true);
    setExtraSelections({mark});
    setTextCursor(mark.cursor);
    centerCursor();
}

void SourceView::changeEvent(QEvent* event) {
    QPlainTextEdit::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_markedLine > 0) {
        markLine(m_markedLine);
    }
}

void SourceView::paintGutter(const QRect& dirty) {
    const widgets::Theme& t = widgets::Theme::current();
    QPainter painter(m_gutter);
    painter.fillRect(dirty, t.surface);
    painter.setFont(font());
    painter.setPen(t.text3);
    for (QTextBlock block = firstVisibleBlock(); block.isValid(); block = block.next()) {
        const QRectF line = blockBoundingGeometry(block).translated(contentOffset());
        if (line.top() > dirty.bottom()) {
            break;
        }
        const bool isMarked = block.blockNumber() + 1 == m_markedLine;
        if (isMarked) {
            painter.fillRect(QRectF(0, line.top(), m_gutter->width(), line.height()), t.badSoft);
            painter.fillRect(QRectF(0, line.top(), 3, line.height()), t.bad);
        }
        painter.setPen(isMarked ? t.bad : t.text3);
        painter.drawText(QRectF(0, line.top(), m_gutter->width() - kRightInset, line.height()),
                         Qt::AlignRight | Qt::AlignVCenter, QString::number(block.blockNumber() + 1));
    }
}

} // namespace modulelens::explorer
