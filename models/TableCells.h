// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <QList>
#include <QMetaType>
#include <QString>
#include <QtGlobal>

/// What the cells of the explorer's tables carry beyond their text. Models say what a value means; the delegate says how
/// that looks.
namespace modulelens::models {

/// Meaning of a text or chip; decides its colour.
enum class Tone { Normal, Secondary, Dim, Good, Neutral, Warning, Bad, Accent, Tag };

struct CellChip {
    QString text;
    Tone tone = Tone::Neutral;
};
using CellChips = QList<CellChip>;

enum CellRole {
    ToneRole = Qt::UserRole + 100,   ///< Tone of the text, as int.
    ChipsRole,                       ///< CellChips, drawn before the text.
    HistogramRole,                   ///< QList<qint64> drawn as a sparkline.
    MonospaceRole,                   ///< bool.
    NumberRole,                      ///< bool: digits in equal cells.
    GroupRole,                       ///< bool: a heading row.
    ProgressRole,                    ///< double 0 to 1, or -1 while the end is unknown: a bar before the text.
    StatusIconRole,                  ///< Tone as int: the status icon of the row.
    StrongRole,                      ///< bool: the row that matters most.
};

} // namespace modulelens::models

Q_DECLARE_METATYPE(modulelens::models::CellChips)
