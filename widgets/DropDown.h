// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>

namespace modulelens::widgets {

/// A combo box in the look of the program: an optional label before the chosen value, a chevron after it. Confined to its
/// thread.
class DropDown : public QComboBox {
    Q_OBJECT

public:
    /// `height` 24 in strips, 28 elsewhere.
    DropDown(const QString& label, int height, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {48, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_label;
    int m_height;
};

} // namespace modulelens::widgets
