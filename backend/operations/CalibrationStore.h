// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Result.h"
#include "backend/protocol/CalibrateMessages.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>

/// The measured peaks of machines, kept in the user's data folder (docs/formats/calibration.md).
namespace modulelens::operations {

/// MODULELENS_CALIBRATION, else "modulelens/calibration" in the user's data folder (XDG_DATA_HOME, else ~/.local/share). Empty
/// when none of these is set.
[[nodiscard]] std::filesystem::path calibrationFolder();

/// Keeps `result` in place of an older one of the same host, device and thread count. Returns its file. NotFound: there is no
/// data folder. PermissionDenied, StorageFull.
[[nodiscard]] base::Result<std::filesystem::path> storeCalibration(const std::filesystem::path& folder,
                                                                   const protocol::CalibrateResult& result);

/// What was measured on `host` for `device` with `threads`; nothing when there is none that can be read.
[[nodiscard]] std::optional<protocol::CalibrateResult> findCalibration(const std::filesystem::path& folder,
                                                                       const std::string& host, const std::string& device,
                                                                       int threads);

/// The largest of the three bandwidths.
[[nodiscard]] std::int64_t peakBytesPerSecond(const protocol::CalibrateResult& calibration);

/// The peaks as facts of a profile: "peak_bytes_per_second", "peak_flops_per_second.float32", ... as decimal numbers.
[[nodiscard]] std::map<std::string, std::string> peakFacts(const protocol::CalibrateResult& calibration);

} // namespace modulelens::operations
