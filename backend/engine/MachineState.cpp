// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/MachineState.h"

#include "backend/engine/Devices.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <sched.h>
#include <torch/version.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace modulelens::engine {

namespace {

constexpr double kShortestSeconds = 0.02;

std::optional<std::string> firstLine(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string line;
    return std::getline(file, line) && !line.empty() ? std::optional(line) : std::nullopt;
}

/// "32768K" as bytes.
std::optional<std::int64_t> sizeOf(const std::string& text) {
    char* end = nullptr;
    const long long number = std::strtoll(text.c_str(), &end, 10);
    if (number <= 0) {
        return std::nullopt;
    }
    const std::int64_t unit = *end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : 1;
    return number * unit;
}

/// The number after `key` on its line of a file such as /proc/meminfo.
std::optional<double> numberAfter(const char* path, const std::string& key) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
        const std::size_t colon = line.find(':');
        if (line.rfind(key, 0) == 0 && colon != std::string::npos) {
            char* end = nullptr;
            const char* begin = line.c_str() + colon + 1;
            const double number = std::strtod(begin, &end);
            return end != begin ? std::optional(number) : std::nullopt;
        }
    }
    return std::nullopt;
}

double seconds(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Seconds that all processors together were at work, from the first line of /proc/stat.
std::optional<double> busySeconds() {
    const std::optional<std::string> line = firstLine("/proc/stat");
    if (!line || line->rfind("cpu ", 0) != 0) {
        return std::nullopt;
    }
    // user, nice, system, idle, iowait, irq, softirq, steal
    std::array<double, 8> ticks{};
    std::istringstream numbers(line->substr(4));
    for (double& tick : ticks) {
        numbers >> tick;
    }
    const long perSecond = ::sysconf(_SC_CLK_TCK);
    constexpr std::size_t kIdle = 3;
    constexpr std::size_t kWaiting = 4;
    double sum = 0;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
        sum += i == kIdle || i == kWaiting ? 0 : ticks[i];
    }
    return perSecond > 0 ? std::optional(sum / static_cast<double>(perSecond)) : std::nullopt;
}

/// Processors that others ask for at this moment: threads that are ready to run, without the one that asks.
std::optional<double> readyThreads() {
    const std::optional<std::string> line = firstLine("/proc/loadavg");
    std::istringstream words(line.value_or(std::string()));
    std::string word;
    for (int i = 0; i < 4; ++i) {
        words >> word;
    }
    return line ? std::optional(std::max(std::strtod(word.c_str(), nullptr) - 1, 0.0)) : std::nullopt;
}

std::optional<int> usableCpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::optional(CPU_COUNT(&set)) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> lastLevelCacheBytes() {
    std::optional<std::int64_t> largest;
    for (int index = 0; index < 8; ++index) {
        const auto text = firstLine("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
        if (const auto size = text ? sizeOf(*text) : std::nullopt; size && *size > largest.value_or(0)) {
            largest = size;
        }
    }
#ifdef _SC_LEVEL3_CACHE_SIZE
    if (const long size = ::sysconf(_SC_LEVEL3_CACHE_SIZE); !largest && size > 0) {
        largest = size;
    }
#endif
    return largest;
}

std::optional<std::int64_t> availableMemoryBytes() {
    const std::optional<double> kilobytes = numberAfter("/proc/meminfo", "MemAvailable");
    constexpr double kKilobyte = 1024;
    return kilobytes ? std::optional(static_cast<std::int64_t>(*kilobytes * kKilobyte)) : std::nullopt;
}

std::optional<std::int64_t> processorClockHz() {
    constexpr double kKilo = 1e3;
    constexpr double kMega = 1e6;
    if (const auto text = firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq")) {
        return static_cast<std::int64_t>(std::strtod(text->c_str(), nullptr) * kKilo);
    }
    const std::optional<double> megahertz = numberAfter("/proc/cpuinfo", "cpu MHz");
    return megahertz ? std::optional(static_cast<std::int64_t>(*megahertz * kMega)) : std::nullopt;
}

OtherLoad::OtherLoad()
    : m_busySeconds(busySeconds()), m_ownSeconds(seconds(CLOCK_PROCESS_CPUTIME_ID)), m_wallSeconds(seconds(CLOCK_MONOTONIC)) {}

std::optional<double> OtherLoad::busyCpus() const {
    const double wall = seconds(CLOCK_MONOTONIC) - m_wallSeconds;
    const std::optional<double> busy = busySeconds();
    if (wall < kShortestSeconds) {
        // The system counts in hundredths of a second, so of a shorter span only its end is known.
        const std::optional<double> ready = readyThreads();
        return ready ? std::optional(std::min(*ready, static_cast<double>(usableCpus().value_or(1)))) : std::nullopt;
    }
    if (!m_busySeconds || !busy) {
        return std::nullopt;
    }
    const double own = seconds(CLOCK_PROCESS_CPUTIME_ID) - m_ownSeconds;
    return std::max((*busy - *m_busySeconds - own) / wall, 0.0);
}

std::string hostName() {
    std::array<char, 256> host{};
    return ::gethostname(host.data(), host.size() - 1) == 0 ? std::string(host.data()) : std::string();
}

protocol::MeasuringEnvironment measuringEnvironment(c10::Device device) {
    protocol::MeasuringEnvironment environment;
    environment.host = hostName();
    environment.device = device.str();
    for (const protocol::DeviceInfo& info : listDevices()) {
        if (info.name == environment.device) {
            environment.deviceName = info.description;
        }
    }
    environment.clockHzBefore = processorClockHz();
    environment.governor = firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    environment.cpus = usableCpus();
    if (const auto load = firstLine("/proc/loadavg")) {
        environment.loadAverage = std::strtod(load->c_str(), nullptr);
    }
    environment.memoryAvailableBytes = availableMemoryBytes();
    environment.lastLevelCacheBytes = lastLevelCacheBytes();
    environment.threads = at::get_num_threads();
    environment.interopThreads = at::get_num_interop_threads();
    environment.torchVersion = TORCH_VERSION;
    environment.float32MatmulPrecision = float32MatmulPrecision();
    if (device.is_cpu()) {
        environment.reducedPrecisionReduction = at::globalContext().allowFP16ReductionCPU();
    }
    environment.deterministicAlgorithms = at::globalContext().deterministicAlgorithms();
    return environment;
}

}  // namespace modulelens::engine
