// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/ScalarType.h"

namespace modulelens::capture {

using base::elementSizeBytes;
using base::ScalarType;
using base::scalarTypeFromName;
using base::scalarTypeName;

}  // namespace modulelens::capture
