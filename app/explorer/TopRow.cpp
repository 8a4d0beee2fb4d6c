// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/TopRow.h"

#include "widgets/DropDown.h"
#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"

#include <QAbstractButton>
#include <QEvent>
#include <QMenuBar>
#include <QPainter>
#include <QToolButton>

#include <algorithm>

namespace modulelens::explorer {

namespace {

using widgets::Icon;
using widgets::Theme;

constexpr int kHeight = 36;
constexpr int kWide = 1400;
constexpr int kGoToWide = 400;
constexpr int kGoToNarrow = 240;
constexpr int kGreatestDeviceWidth = 320;

/// Of what a click switches to.
Icon themeIcon() {
    return Theme::current().mode == Theme::Mode::Light ? Icon::Moon : Icon::Sun;
}

QToolButton* toolButton(Icon icon, const QString& name, QWidget* parent) {
    auto* button = new QToolButton(parent);
    button->setIcon(widgets::themedIcon(icon));
    button->setToolTip(name);
    button->setAccessibleName(name);
    return button;
}

} // namespace

/// Looks like a field and opens the command palette.
class TopRow::GoToButton : public QAbstractButton {
public:
    explicit GoToButton(QWidget* parent) : QAbstractButton(parent) {
        setAccessibleName(TopRow::tr("Go to module, version or command"));
        setCursor(Qt::IBeamCursor);
        setFocusPolicy(Qt::TabFocus);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const Theme& t = Theme::current();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        const bool focus = hasFocus();
        const double inset = focus ? 1 : .5;
        painter.setPen(QPen(focus ? t.accent : t.controlBorder, focus ? 2 : 1));
        painter.setBrush(t.surface);
        painter.drawRoundedRect(QRectF(rect()).adjusted(inset, inset, -inset, -inset), 4, 4);
        widgets::paintIcon(painter, QRectF(8, 6, 16, 16), Icon::Search, t.text2);
        const QString words = width() > 300 ? TopRow::tr("Go to module, version or command") : TopRow::tr("Go to…");
        widgets::drawText(painter, QRectF(30, 0, width() - 120, height()), words, widgets::uiFont(12), t.text3);
        widgets::drawText(painter, QRectF(0, 0, width() - 10, height()), QStringLiteral("Ctrl+Shift+P"), widgets::uiFont(11),
                          t.text3, Qt::AlignRight);
    }
};

TopRow::TopRow(QWidget* parent)
    : QWidget(parent),
      m_menus(new QMenuBar(this)),
      m_back(toolButton(Icon::Back, tr("Back (Alt+Left)"), this)),
      m_forward(toolButton(Icon::Forward, tr("Forward (Alt+Right)"), this)),
      m_goTo(new GoToButton(this)),
      m_device(new widgets::DropDown({}, 28, this)),
      m_theme(toolButton(themeIcon(), tr("Switch between light and dark"), this)) {
    setFixedHeight(kHeight);
    m_menus->setNativeMenuBar(false);
    m_device->setAccessibleName(tr("Device"));
    m_device->setToolTip(tr("Where versions are run, and with how many threads"));
    setDevices({});
    setHistory(false, false);
    connect(m_back, &QToolButton::clicked, this, &TopRow::backRequested);
    connect(m_forward, &QToolButton::clicked, this, &TopRow::forwardRequested);
    connect(m_goTo, &QAbstractButton::clicked, this, &TopRow::goToRequested);
    connect(m_theme, &QToolButton::clicked, this, &TopRow::themeSwitchRequested);
    connect(m_device, &QComboBox::textActivated, this,
            [this](const QString& text) { emit deviceChosen(text.section(u' ', 0, 0)); });
}

void TopRow::setDevices(const QStringList& devices) {
    m_device->clear();
    if (devices.isEmpty()) {
        m_device->addItem(widgets::themedIcon(Icon::Chip), tr("No device yet"));
    }
    for (const QString& device : devices) {
        m_device->addItem(widgets::themedIcon(Icon::Chip), device);
    }
    m_device->setEnabled(!devices.isEmpty());
    arrange();
}

void TopRow::setHistory(bool canGoBack, bool canGoForward) {
    m_back->setEnabled(canGoBack);
    m_forward->setEnabled(canGoForward);
}

void TopRow::arrange() {
    const int menus = m_menus->sizeHint().width();
    m_menus->setGeometry(36, 4, menus, 28);
    int x = 36 + menus + 12;
    for (QToolButton* button : {m_back, m_forward}) {
        button->setGeometry(x, 6, 24, 24);
        x += 28;
    }
    m_theme->setGeometry(width() - 36, 6, 24, 24);
    const int device = std::min(m_device->sizeHint().width(), kGreatestDeviceWidth);
    const int deviceX = width() - 44 - device;
    m_device->setGeometry(deviceX, 4, device, 28);
    const int wanted = width() > kWide ? kGoToWide : kGoToNarrow;
    const int goTo = std::clamp(wanted, 80, std::max(80, deviceX - x - 24));
    m_goTo->setGeometry(std::clamp((width() - goTo) / 2 + 40, x + 12, std::max(x + 12, deviceX - goTo - 12)), 4, goTo, 28);
}

void TopRow::paintEvent(QPaintEvent*) {
    const Theme& t = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), t.window);
    painter.fillRect(0, height() - 1, width(), 1, t.line);
    widgets::paintIcon(painter, QRectF(12, 10, 16, 16), Icon::Layers, t.accent);
    painter.fillRect(m_back->x() - 8, 10, 1, 16, t.line);
}

void TopRow::resizeEvent(QResizeEvent*) {
    arrange();
}

void TopRow::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) {
        m_theme->setIcon(widgets::themedIcon(themeIcon()));
        arrange();
    }
    QWidget::changeEvent(event);
}

} // namespace modulelens::explorer
