// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/CalibrationStore.h"

#include "backend/base/Digest.h"
#include "backend/base/FileSystem.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>

namespace modulelens::operations {

namespace {

constexpr int kSchemaVersion = 1;
constexpr std::uint64_t kLargestFile = 1 << 20;

std::filesystem::path fileOf(const std::filesystem::path& folder, const std::string& host, const std::string& device,
                             int threads) {
    // Homes are shared between machines, so the host is part of the name.
    constexpr std::size_t kNameDigits = 16;
    const std::string key = host + '\n' + device + '\n' + std::to_string(threads);
    return folder / (base::sha256Hex(key).substr(0, kNameDigits) + ".json");
}

base::Result<void> writeFile(const std::filesystem::path& path, const std::string& text) {
    base::FileSystem& files = base::realFileSystem();
    const std::filesystem::path beside = path.string() + '.' + std::to_string(::getpid());
    base::Result<void> removed = files.remove(beside);
    if (!removed) {
        return removed;
    }
    auto file = files.create(beside);
    if (!file) {
        return file.error();
    }
    const auto write = [&]() -> base::Result<void> {
        for (const auto& step : {(*file)->append(std::as_bytes(std::span(text))), (*file)->sync(), (*file)->close()}) {
            if (!step) {
                return step;
            }
        }
        return files.rename(beside, path);
    };
    base::Result<void> written = write();
    if (!written) {
        static_cast<void>(files.remove(beside));
    }
    return written;
}

} // namespace

std::filesystem::path calibrationFolder() {
    const auto setting = [](const char* name) {
        const char* value = std::getenv(name);
        return value == nullptr ? std::string() : std::string(value);
    };
    if (const std::string folder = setting("MODULELENS_CALIBRATION"); !folder.empty()) {
        return std::filesystem::path(folder);
    }
    if (const std::string data = setting("XDG_DATA_HOME"); !data.empty()) {
        return std::filesystem::path(data) / "modulelens" / "calibration";
    }
    const std::string home = setting("HOME");
    return home.empty() ? std::filesystem::path()
                        : std::filesystem::path(home) / ".local" / "share" / "modulelens" / "calibration";
}

base::Result<std::filesystem::path> storeCalibration(const std::filesystem::path& folder,
                                                     const protocol::CalibrateResult& result) {
    if (folder.empty()) {
        return base::Error{base::ErrorCode::NotFound, "no folder for calibrations is known, since HOME is not set",
                           "Name one with MODULELENS_CALIBRATION."};
    }
    if (base::Result<void> made = base::realFileSystem().createDirectories(folder); !made) {
        return made.error();
    }
    const protocol::MeasuringEnvironment& environment = result.environment;
    const std::filesystem::path path = fileOf(folder, environment.host, environment.device, environment.threads);
    nlohmann::json document = protocol::toJson(result);
    document["schema"] = "modulelens.calibration";
    document["schema_version"] = kSchemaVersion;
    const std::string text = document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    if (base::Result<void> written = writeFile(path, text); !written) {
        return written.error();
    }
    return path;
}

std::optional<protocol::CalibrateResult> findCalibration(const std::filesystem::path& folder, const std::string& host,
                                                         const std::string& device, int threads) {
    if (folder.empty()) {
        return std::nullopt;
    }
    const base::Result<std::string> text = base::realFileSystem().read(fileOf(folder, host, device, threads), kLargestFile);
    if (!text) {
        return std::nullopt;
    }
    const nlohmann::json document = nlohmann::json::parse(*text, nullptr, false);
    if (!document.is_object() || !document.contains("schema_version") || document["schema_version"] != kSchemaVersion) {
        return std::nullopt;
    }
    base::Result<protocol::CalibrateResult> result = protocol::parseCalibrateResult(document);
    const bool isMeant = result && result->environment.host == host && result->environment.device == device &&
                         result->environment.threads == threads;
    return isMeant ? std::optional(*std::move(result)) : std::nullopt;
}

std::int64_t peakBytesPerSecond(const protocol::CalibrateResult& calibration) {
    return std::max({calibration.readBytesPerSecond, calibration.copyBytesPerSecond, calibration.triadBytesPerSecond});
}

std::map<std::string, std::string> peakFacts(const protocol::CalibrateResult& calibration) {
    std::map<std::string, std::string> facts = {{"peak_bytes_per_second", std::to_string(peakBytesPerSecond(calibration))}};
    for (const protocol::PeakRate& peak : calibration.peaks) {
        facts["peak_flops_per_second." + peak.dtype] = std::to_string(peak.flopsPerSecond);
    }
    return facts;
}

} // namespace modulelens::operations
