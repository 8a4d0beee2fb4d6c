// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/worker/Faults.h"

#include <sys/resource.h>
#include <unistd.h>
#include <charconv>
#include <cstdlib>
#include <fstream>

namespace modulelens::worker {

namespace {

constexpr std::string_view kGarbage = "garbage-after:";
constexpr rlim_t kAllowedGrowthBytes = rlim_t{48} << 20;

// Bytes of this process's address space.
rlim_t addressSpaceBytes() {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

void setAddressSpaceLimit(bool isLimited) {
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = isLimited ? addressSpaceBytes() + kAllowedGrowthBytes : limit.rlim_max;
    ::setrlimit(RLIMIT_AS, &limit);
}

}  // namespace

Faults Faults::fromEnvironment() {
    Faults faults;
    const char* list = std::getenv("MODULELENS_WORKER_FAULT");
    if (list == nullptr || *list == '\0') {
        return faults;
    }
    faults.m_list = "," + std::string(list) + ",";
    const std::size_t at = faults.m_list.find("," + std::string(kGarbage));
    if (at != std::string::npos) {
        const char* digits = faults.m_list.data() + at + 1 + kGarbage.size();
        std::from_chars(digits, faults.m_list.data() + faults.m_list.size(), faults.m_garbageAfter);
    }
    return faults;
}

bool Faults::has(std::string_view kind, std::string_view method) const {
    return !m_list.empty() && m_list.find("," + std::string(kind) + ":" + std::string(method) + ",") != std::string::npos;
}

void Faults::onMethod(std::string_view method) {
    if (m_isLimited != has("memory-limit-in", method)) {
        m_isLimited = !m_isLimited;
        setAddressSpaceLimit(m_isLimited);
    }
    if (has("crash-in", method)) {
        std::abort();
    }
    if (has("exit-in", method)) {
        std::_Exit(3);
    }
    while (has("hang-in", method)) {
        ::pause();
    }
}

bool Faults::isGarbageDue() {
    return m_garbageAfter >= 0 && ++m_sent == m_garbageAfter;
}

}  // namespace modulelens::worker
