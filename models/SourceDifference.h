// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <QString>

#include <vector>

namespace modulelens::models {

/// One line of one side of a difference. A plain value.
struct DifferenceSide {
    int number = 0;              ///< Counted from 1; 0: there is no line on this side.
    QString text;
    int changedFrom = 0;         ///< Of a line that faces another one: what differs, in characters; nothing when equal.
    int changedTo = 0;
};

/// One row of two columns, before and after.
struct DifferenceRow {
    enum class Kind { Heading, Fold, Equal, Changed };
    Kind kind = Kind::Equal;
    QString title;               ///< Of a heading, or of equal lines that are not shown.
    DifferenceSide before;
    DifferenceSide after;
};

struct SourceDifference {
    std::vector<DifferenceRow> rows;
    int added = 0;
    int removed = 0;
};

/// Reads a unified difference; what is none gives no rows. Lines that were changed face each other, others stand alone.
[[nodiscard]] SourceDifference sourceDifference(const QString& unified);

} // namespace modulelens::models
