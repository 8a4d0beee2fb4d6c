// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/protocol/BenchmarkMessages.h"

/// The messages of `calibrate` (docs/formats/worker-protocol.md). Parsing as in WorkerMessages.h.
namespace modulelens::protocol {

struct CalibrateParams {
    std::string device = "cpu";
    std::optional<int> threads;          ///< The worker's default when absent.
    std::int64_t budgetMs = 10'000;      ///< For all measurements together.
    std::optional<std::int64_t> timeoutMs;
};

/// The most that matrix products of one element type reached.
struct PeakRate {
    std::string dtype;
    std::int64_t flopsPerSecond = 0;
    std::int64_t size = 0;               ///< Rows and columns of the matrices.
};

/// The peaks of one device with one thread count, as measured.
struct CalibrateResult {
    std::int64_t readBytesPerSecond = 0;       ///< Summing an array.
    std::int64_t copyBytesPerSecond = 0;       ///< Read and written bytes of a copy.
    std::int64_t triadBytesPerSecond = 0;      ///< a = b + s * c: read and written bytes.
    std::int64_t arrayBytes = 0;               ///< Size of each array.
    std::vector<PeakRate> peaks;
    std::vector<std::string> unmeasured;       ///< "float16: why", for element types that this device cannot multiply.
    std::int64_t timerNs = 0;
    std::int64_t nullOperatorNs = 0;
    MeasuringEnvironment environment;
};

#define MODULELENS_MESSAGE(Type)                      \
    [[nodiscard]] nlohmann::json toJson(const Type&); \
    [[nodiscard]] base::Result<Type> parse##Type(const nlohmann::json& json)

MODULELENS_MESSAGE(CalibrateParams);
MODULELENS_MESSAGE(PeakRate);
MODULELENS_MESSAGE(CalibrateResult);
#undef MODULELENS_MESSAGE

}  // namespace modulelens::protocol
