// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

class QMenuBar;
class QToolButton;

namespace modulelens::widgets {
class DropDown;
}

namespace modulelens::explorer {

/// The first row of the window: logo, menus, back and forward, the go-to field, device, theme switch. Confined to its
/// thread.
class TopRow : public QWidget {
    Q_OBJECT

public:
    explicit TopRow(QWidget* parent = nullptr);

    [[nodiscard]] QMenuBar* menuBar() const { return m_menus; }
    void setDevices(const QStringList& devices);
    void setHistory(bool canGoBack, bool canGoForward);

signals:
    void backRequested();
    void forwardRequested();
    void goToRequested();
    void themeSwitchRequested();
    /// Name of the device without its description.
    void deviceChosen(const QString& device);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    class GoToButton;
    void arrange();

    QMenuBar* m_menus;
    QToolButton* m_back;
    QToolButton* m_forward;
    GoToButton* m_goTo;
    widgets::DropDown* m_device;
    QToolButton* m_theme;
};

} // namespace modulelens::explorer
