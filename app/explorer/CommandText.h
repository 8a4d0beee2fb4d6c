// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

/// What of the window the command line does as well, as text to copy.
namespace modulelens::explorer {

/// A word as a shell takes it: in quotes where it needs them.
[[nodiscard]] QString shellWord(const QString& word);

/// "modulelens validate m::a@v1 --device cuda:0" for the pattern "validate %v%d": %v is the version, %d the device where it is
/// not the CPU. Empty when the pattern is, or names a version and `address` is empty.
[[nodiscard]] QString commandText(const QString& pattern, const QString& address, const QString& device);

} // namespace modulelens::explorer
