// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QSyntaxHighlighter>

namespace modulelens::explorer {

/// Keywords, literals and comments of Python in the theme's colours. Confined to its thread.
class PythonHighlighter : public QSyntaxHighlighter {
    Q_OBJECT

public:
    /// The document owns the highlighter.
    explicit PythonHighlighter(QTextDocument* document);

protected:
    void highlightBlock(const QString& text) override;
};

} // namespace modulelens::explorer
