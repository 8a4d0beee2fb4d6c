// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <QString>
#include <QStringList>

namespace modulelens::models {

/// The words of a registry query: split at spaces outside double quotes. A word that is not closed stays one word.
[[nodiscard]] QStringList splitQuery(const QString& query);

/// The term that finds exactly `value` in `field`, quoted where it needs it: `model=x`, `tag:x`.
[[nodiscard]] QString queryTerm(const QString& field, const QString& value);

/// True for a word that restricts a field ("model:x", "-tag:old", "params>1M"), as against free text.
[[nodiscard]] bool isQueryTerm(const QString& word);

[[nodiscard]] bool queryHasTerm(const QString& query, const QString& term);
/// The query with `term` added at the end, or taken out where it stands.
[[nodiscard]] QString queryWithTermToggled(const QString& query, const QString& term);

} // namespace modulelens::models
