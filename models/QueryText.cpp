// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/QueryText.h"

#include <algorithm>

namespace modulelens::models {

QStringList splitQuery(const QString& query) {
    QStringList words;
    QString word;
    bool quoted = false;
    for (qsizetype i = 0; i < query.size(); ++i) {
        const QChar character = query[i];
        if (quoted && character == u'\\' && i + 1 < query.size()) {
            word += character;
            word += query[++i];
        } else if (character == u'"') {
            quoted = !quoted;
            word += character;
        } else if (character.isSpace() && !quoted) {
            if (!word.isEmpty()) {
                words.append(word);
                word.clear();
            }
        } else {
            word += character;
        }
    }
    if (!word.isEmpty()) {
        words.append(word);
    }
    return words;
}

QString queryTerm(const QString& field, const QString& value) {
    const bool plain = !value.isEmpty() && std::none_of(value.begin(), value.end(), [](QChar c) {
        return c.isSpace() || c == u'"' || c == u'\\' || c == u'(' || c == u')';
    });
    // Names are asked for exactly, labels are exact anyway.
    const bool isName =
        field == QStringLiteral("model") || field == QStringLiteral("module") || field == QStringLiteral("class");
    const QString start = field + (isName ? u'=' : u':');
    if (plain) {
        return start + value;
    }
    QString escaped = value;
    escaped.replace(QStringLiteral("\\"), QStringLiteral("\\\\")).replace(QStringLiteral("\""), QStringLiteral("\\\""));
    return start + u'"' + escaped + u'"';
}

bool isQueryTerm(const QString& word) {
    qsizetype at = word.startsWith(u'-') ? 1 : 0;
    const qsizetype start = at;
    while (at < word.size() && (word[at].isLetterOrNumber() || word[at] == u'.' || word[at] == u'_')) {
        ++at;
    }
    return at > start && at + 1 < word.size() && QStringLiteral(":<>=").contains(word[at]);
}

bool queryHasTerm(const QString& query, const QString& term) {
    return splitQuery(query).contains(term);
}

QString queryWithTermToggled(const QString& query, const QString& term) {
    QStringList words = splitQuery(query);
    if (words.removeAll(term) == 0) {
        words.append(term);
    }
    return words.join(u' ');
}

} // namespace modulelens::models
