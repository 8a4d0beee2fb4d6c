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
    /// Marks the line at fault, counted from 1, and scrolls to it; 0 marks none.
    void markLine(int line);
    [[nodiscard]] int markedLine() const { return m_markedLine; }

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    class Gutter;

    void paintGutter(const QRect& dirty);
    void fitGutter();

    QWidget* m_gutter;
    int m_markedLine = 0;
};

} // namespace modulelens::explorer
