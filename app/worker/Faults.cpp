// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/worker/Faults.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <sys/resource.h>
#include <unistd.h>
#include <atomic>
#include <charconv>
#include <csignal>
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

/// LibTorch's CPU allocator with a switch that makes it fail. Thread-safe.
class FailingMemory : public c10::Allocator {
public:
    static FailingMemory& install() {
        constexpr std::uint8_t kAboveOthers = 100;
        static auto* const memory = [] {
            auto* const made = new FailingMemory(c10::GetCPUAllocator());
            c10::SetCPUAllocator(made, kAboveOthers);
            return made;
        }();
        return *memory;
    }
    void setFailing(bool isFailing) { m_isFailing = isFailing; }

    c10::DataPtr allocate(std::size_t bytes) override {
        TORCH_CHECK_WITH(OutOfMemoryError, !m_isFailing || bytes == 0, "can't allocate memory: you tried to allocate ", bytes,
                         " bytes, and MODULELENS_WORKER_FAULT allows none");
        return m_memory->allocate(bytes);
    }
    c10::DeleterFnPtr raw_deleter() const override { return m_memory->raw_deleter(); }
    void copy_data(void* target, const void* source, std::size_t count) const override {
        default_copy_data(target, source, count);
    }

private:
    explicit FailingMemory(c10::Allocator* memory) : m_memory(memory) {}
    c10::Allocator* m_memory;
    std::atomic<bool> m_isFailing{false};
};

}  // namespace

Faults Faults::fromEnvironment() {
    Faults faults;
    const char* list = std::getenv("MODULELENS_WORKER_FAULT");
    if (list == nullptr || *list == '\0') {
        return faults;
    }
    faults.m_list = "," + std::string(list) + ",";
    const std::size_t once = faults.m_list.find(",once:");
    if (once != std::string::npos) {
        const std::size_t begin = once + std::string_view(",once:").size();
        const std::string file = faults.m_list.substr(begin, faults.m_list.find(',', begin) - begin);
        if (::unlink(file.c_str()) != 0) {
            faults.m_list.clear();
            return faults;
        }
    }
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
    if (m_hasFailedMemory) {
        FailingMemory::install().setFailing(false);
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

void Faults::onProgress(std::string_view stage) {
    if (has("kill-at", stage)) {
        (void)std::raise(SIGKILL);
    }
    if (!m_hasFailedMemory && has("out-of-memory-at", stage)) {
        m_hasFailedMemory = true;
        FailingMemory::install().setFailing(true);
    }
}

bool Faults::isGarbageDue() {
    return m_garbageAfter >= 0 && ++m_sent == m_garbageAfter;
}

}  // namespace modulelens::worker
