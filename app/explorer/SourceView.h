// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPlainTextEdit>

namespace modulelens::explorer {

/// Source text to read, with line numbers left of it. Confined to its thread.
class SourceView : public QPlainTextEdit {
    Q_OBJECT

public:
    explicit SourceView(QWidget* parent = nullptr);

    /// Width of the column of line numbers.
    [[nodiscard]] int gutterWidth() const;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    class Gutter;

    void paintGutter(const QRect& dirty);
    void fitGutter();

    QWidget* m_gutter;
};

} // namespace modulelens::explorer
