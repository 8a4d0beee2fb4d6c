// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backend/capture/VersionDocument.h"

#include <QHash>
#include <QString>

namespace modulelens::explorer {

/// Readable names of a call's tensors by their JSON Pointer: "input_ids", "args[0]", "output.last_hidden_state". Keys of
/// dicts and members of dataclasses are looked up in the captured value.
[[nodiscard]] QHash<QString, QString> tensorNames(const capture::CallDocument& call);

} // namespace modulelens::explorer
