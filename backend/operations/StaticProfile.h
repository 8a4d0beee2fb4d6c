// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/capture/RunRecord.h"
#include "backend/capture/VersionDocument.h"
#include "backend/graph/Program.h"
#include "backend/profile/Profile.h"

#include <memory>

namespace modulelens::operations {

/// The hierarchy of a version with what is known before anything ran here. Module calls come from the run record, so
/// that calls without operators are there too; operators with FLOPs and bytes from the program; parameter bytes from the
/// state; latency from the traced run. `program` and `run` may be null; without both the module itself is all there is.
[[nodiscard]] base::Result<std::shared_ptr<const profile::Profile>> buildStaticProfile(const capture::VersionDocument& version,
                                                                                       int call, const graph::Program* program,
                                                                                       const capture::RunRecord* run);

} // namespace modulelens::operations
