// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/PythonHighlighter.h"

#include "widgets/Theme.h"

#include <QRegularExpression>

namespace modulelens::explorer {

namespace {
constexpr int kPlain = 0;
constexpr int kInString = 1;
}  // namespace

PythonHighlighter::PythonHighlighter(QTextDocument* document) : QSyntaxHighlighter(document) {}

void PythonHighlighter::highlightBlock(const QString& text) {
    static const QRegularExpression tokens(QStringLiteral(
        R"((?<comment>#.*)|(?<literal>[rbfRBF]{0,2}"[^"\\]*(?:\\.[^"\\]*)*"|[rbfRBF]{0,2}'[^'\\]*(?:\\.[^'\\]*)*'|\b(?:True|False|None)\b|\b\d[\d_.eE]*\b)|(?<keyword>\b(?:class|def|return|if|else|elif|for|while|in|is|not|and|or|import|from|as|with|lambda|self|super|raise|try|except|finally|yield|assert|pass)\b))"));
    const widgets::Theme& t = widgets::Theme::current();
    QTextCharFormat literal;
    literal.setForeground(t.syntaxLiteral);
    QTextCharFormat comment;
    comment.setForeground(t.syntaxComment);
    comment.setFontItalic(true);
    QTextCharFormat keyword;
    keyword.setForeground(t.syntaxKeyword);
    const QString quotes = QStringLiteral("\"\"\"");
    qsizetype from = 0;
    if (previousBlockState() == kInString) {
        const qsizetype end = text.indexOf(quotes);
        from = end < 0 ? text.size() : end + quotes.size();
        setFormat(0, static_cast<int>(from), literal);
        if (end < 0) {
            setCurrentBlockState(kInString);
            return;
        }
    }
    setCurrentBlockState(kPlain);
    const qsizetype open = text.indexOf(quotes, from);
    QRegularExpressionMatchIterator found = tokens.globalMatch(text, from);
    while (found.hasNext()) {
        const QRegularExpressionMatch match = found.next();
        if (open >= 0 && match.capturedStart() >= open) {
            break;
        }
        const QTextCharFormat& format = match.hasCaptured(QStringLiteral("comment"))   ? comment
                                        : match.hasCaptured(QStringLiteral("keyword")) ? keyword
                                                                                       : literal;
        setFormat(static_cast<int>(match.capturedStart()), static_cast<int>(match.capturedLength()), format);
    }
    if (open >= 0) {
        const qsizetype end = text.indexOf(quotes, open + quotes.size());
        const qsizetype stop = end < 0 ? text.size() : end + quotes.size();
        setFormat(static_cast<int>(open), static_cast<int>(stop - open), literal);
        setCurrentBlockState(end < 0 ? kInString : kPlain);
    }
}

} // namespace modulelens::explorer
