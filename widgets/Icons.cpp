// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/Icons.h"

#include "widgets/Theme.h"

#include <QIconEngine>
#include <QPainter>
#include <QPixmapCache>
#include <QSvgRenderer>

#include <array>

namespace modulelens::widgets {

namespace {

/// SVG path data in the order of Icon.
constexpr std::array kPaths = {
    "M6 4l4 4-4 4", // ChevronRight
    "M4 6l4 4 4-4", // ChevronDown
    "M4 10l4-4 4 4", // ChevronUp
    "M4.5 4.5l7 7M11.5 4.5l-7 7", // Close
    "M7 2.8a4.2 4.2 0 1 0 0 8.4a4.2 4.2 0 0 0 0-8.4zM10.2 10.2L13.5 13.5", // Search
    "M5 3.2v9.6l7.6-4.8z", // Play
    "M3.2 8.4l3.2 3.2 6.4-7", // Check
    "M8 2.5l6 11H2zM8 6.6v3.2M8 11.4v.3", // Warning
    "M8 2a6 6 0 1 0 0 12a6 6 0 0 0 0-12zM5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4", // Failed
    "M8 2a6 6 0 1 0 0 12a6 6 0 0 0 0-12zM8 7.4v3.4M8 5v.3", // Info
    "M8 3.4a4.6 4.6 0 1 0 0 9.2a4.6 4.6 0 0 0 0-9.2z", // Ring
    "M8 4a5 5 0 1 0 0 10a5 5 0 0 0 0-10zM8 6.4V9l1.8 1.4M6.4 1.8h3.2", // Timer
    "M2.5 3h4.2v10H2.5zM9.3 3h4.2v10H9.3z", // Compare
    "M3 5.5h9.5M10 3l2.5 2.5L10 8M13 10.5H3.5M6 8l-2.5 2.5L6 13", // Swap
    "M2 4.2h4.2l1.4 1.6H14v7H2z", // Folder
    "M4.6 12.5a3 3 0 0 1-.2-6a4 4 0 0 1 7.7 1a2.6 2.6 0 0 1-.3 5z", // Cloud
    "M3 4.2c0-1.2 2.2-2 5-2s5 .8 5 2v7.6c0 1.2-2.2 2-5 2s-5-.8-5-2zM3 4.2c0 1.2 2.2 2 5 2s5-.8 5-2M3 8c0 1.2 2.2 2 5 "
    "2s5-.8 5-2", // Database
    "M6 2.2h4M6.8 2.2v4L3 12.6c-.4.7 0 1.2.8 1.2h8.4c.8 0 1.2-.5.8-1.2L9.2 6.2v-4M5 10h6", // Flask
    "M8 1.9l5.3 3v6.2L8 14.1l-5.3-3V4.9zM2.7 4.9L8 8l5.3-3.1M8 8v6.1", // Cube
    "M2.8 2.8h10.4v10.4H2.8zM2.8 6.4h10.4", // Module
    "M4.2 4.2h7.6v7.6H4.2zM6.6 1.8v2.4M9.4 1.8v2.4M6.6 11.8v2.4M9.4 11.8v2.4M1.8 6.6h2.4M1.8 9.4h2.4M11.8 6.6h2.4M11.8 "
    "9.4h2.4", // Chip
    "M3 3h4M5 3v9.5h3M5 7.7h3M9.6 7.7H13M9.6 12.5H13", // Tree
    "M2 3h12v2.6H2zM2 6.8h7.4v2.6H2zM2 10.6h4.4v2.6H2z", // Flame
    "M8.2 1.8c.6 2.4 3.8 3.8 3.8 7.3a4 4 0 0 1-8 0c0-1.6.8-2.6 1.7-3.4c.1 1.2.6 1.8 1.2 2.1c-.2-2.2.2-4.4 1.3-6z", // Hot
    "M2.5 4h11M2.5 8h7.5M2.5 12h4", // Operators
    "M2.5 2.5v11h11M4.2 11L8 6.4h5.3", // Roofline
    "M2.5 13.5V9.4h2.6V5.2h3V8h2.7V3.6h2.7v9.9z", // Memory
    "M2.8 2.8h10.4v10.4H2.8zM2.8 6.3h10.4M2.8 9.7h10.4M6.3 2.8v10.4M9.7 2.8v10.4", // Grid
    "M5.6 4.4L2 8l3.6 3.6M10.4 4.4L14 8l-3.6 3.6", // Code
    "M2.4 8a5.6 5.6 0 1 0 1.8-4.1M2.4 2.4v2.4h2.4M8 4.9V8l2.2 1.5", // History
    "M13.4 8A5.4 5.4 0 1 1 11.6 4M13.4 2.2v2.6h-2.6", // Refresh
    "M3.6 8h.01M8 8h.01M12.4 8h.01", // More
    "M2.5 3.2h11L9.4 8.2v4.6l-2.8-1.6V8.2z", // Filter
    "M5.6 5.6h7.6v7.6H5.6zM10.4 5.6V2.8H2.8v7.6h2.8", // Copy
    "M6 2.4h4l-.6 4.4 2.2 2H4.4l2.2-2zM8 8.8v4.8", // Pin
    "M3.4 2.4h9.2v11.2H3.4zM5.6 5.4h4.8M5.6 8h4.8M5.6 10.6h2.6", // Log
    "M9.8 3.6L5.4 8l4.4 4.4", // Back
    "M6.2 3.6L10.6 8l-4.4 4.4", // Forward
    "M12.8 9.6A5.4 5.4 0 1 1 6.4 3.2a4.4 4.4 0 0 0 6.4 6.4z", // Moon
    "M2.4 9.4v4h11.2v-4M8 2.4v7M5 6.6l3 3 3-3", // Tray
    "M8 12.6V3.8M4.4 7.2L8 3.6l3.6 3.6", // Up
    "M8 3.4v8.8M4.4 8.8L8 12.4l3.6-3.6", // Down
    "M3.6 6.2h8.8M3.6 9.8h8.8", // Equal
    "M8 3.4v9.2M3.4 8h9.2", // Plus
    "M3.4 8h9.2", // Minus
    "M5.5 2.5h5v3.4h-5zM2 10.1h5v3.4H2zM9 10.1h5v3.4H9zM8 5.9v2.2M4.5 10.1V8.1h7v2", // Graph
    "M2.5 2.5v11h11M4.6 11.4c3.4-.6 6-3 8.2-7.6", // Scale
    "M4.5 2a1.6 1.6 0 1 0 .01 0M4.5 10.8a1.6 1.6 0 1 0 .01 0M11.5 3.8a1.6 1.6 0 1 0 .01 0M4.5 5.2v5.6M11.5 7c0 2.6-3.4 "
    "2.4-6 4.2", // Branch
    "M8 2.2l1.8 3.7 4 .6-2.9 2.8.7 4L8 11.4l-3.6 1.9.7-4L2.2 6.5l4-.6z", // Star
    "M9 2.6h4.4V7M13.2 2.8L7.6 8.4M11.4 9.4v4H2.6V4.6h4", // Out
    "M4 13.8V2.6h7.6L9.8 5.4l1.8 2.8H4", // Flag
    "M2.5 5h6M11.5 5h2M2.5 11h2M7.5 11h6M10 3.4v3.2M6 9.4v3.2", // Sliders
    "M2.5 8h3M10.5 8h3M7 5l2 6", // Gap
    "M2.5 3.6h11M2.5 8h11M2.5 12.4h11", // Rows
    "M8 2.4l5.6 2.9L8 8.2 2.4 5.3zM2.4 8L8 10.9 13.6 8M2.4 10.8L8 13.7l5.6-2.9", // Layers
    "M6.8 9.2a2.4 2.4 0 0 0 3.4 0l2.2-2.2a2.4 2.4 0 0 0-3.4-3.4l-.8.8M9.2 6.8a2.4 2.4 0 0 0-3.4 0L3.6 9a2.4 2.4 0 0 0 3.4 "
    "3.4l.8-.8", // Link
    "M8 5.2a2.8 2.8 0 1 0 0 5.6a2.8 2.8 0 0 0 0-5.6zM8 1.6v1.4M8 13v1.4M1.6 8h1.4M13 8h1.4M3.5 3.5l1 1M11.5 11.5l1 1M3.5 "
    "12.5l1-1M11.5 4.5l1-1", // Sun
};

QByteArray svgOf(Icon icon, const QColor& colour) {
    const bool filled = icon == Icon::Play || icon == Icon::Hot;
    const char* strokeWidth = icon == Icon::More ? "2.4" : filled ? "1" : "1.5";
    const QByteArray name = colour.name().toLatin1();
    return QByteArray("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><path d=\"") +
           kPaths[static_cast<std::size_t>(icon)] + "\" fill=\"" + (filled ? name : QByteArray("none")) + "\" stroke=\"" +
           name + "\" stroke-width=\"" + strokeWidth + "\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/></svg>";
}

/// Paints in the theme's colours of the moment.
class ThemedIconEngine : public QIconEngine {
public:
    explicit ThemedIconEngine(Icon icon) : m_icon(icon) {}

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
        const Theme& theme = Theme::current();
        const QColor colour = mode == QIcon::Disabled ? theme.line2
                              : state == QIcon::On    ? theme.accent
                              : mode == QIcon::Active ? theme.text
                                                      : theme.text2;
        paintIcon(*painter, rect, m_icon, colour);
    }

    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        QPixmap pixmap(size);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        paint(&painter, QRect(QPoint(), size), mode, state);
        return pixmap;
    }

    QIconEngine* clone() const override { return new ThemedIconEngine(m_icon); }

private:
    Icon m_icon;
};

} // namespace

void paintIcon(QPainter& painter, const QRectF& box, Icon icon, const QColor& colour) {
    const double ratio = painter.device() == nullptr ? 1.0 : painter.device()->devicePixelRatioF();
    const QSize pixels = (box.size() * ratio).toSize();
    if (pixels.isEmpty()) {
        return;
    }
    // The ratio belongs to it: an icon of 28 pixels on a plain device and one of 14 at ratio 2 have as many pixels.
    const QString key = QStringLiteral("modulelens-icon-%1-%2-%3x%4-%5")
                            .arg(static_cast<int>(icon))
                            .arg(colour.rgba(), 0, 16)
                            .arg(pixels.width())
                            .arg(pixels.height())
                            .arg(ratio);
    QPixmap pixmap;
    if (!QPixmapCache::find(key, &pixmap)) {
        pixmap = QPixmap(pixels);
        pixmap.fill(Qt::transparent);
        QPainter onto(&pixmap);
        QSvgRenderer(svgOf(icon, colour)).render(&onto, QRectF(QPointF(), QSizeF(pixels)));
        onto.end();
        pixmap.setDevicePixelRatio(ratio);
        QPixmapCache::insert(key, pixmap);
    }
    painter.drawPixmap(QPointF(qRound(box.x()), qRound(box.y())), pixmap);
}

QIcon themedIcon(Icon icon) {
    return QIcon(new ThemedIconEngine(icon));
}

} // namespace modulelens::widgets
