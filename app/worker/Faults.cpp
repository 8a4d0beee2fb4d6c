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
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>

namespace modulelens::worker {

namespace {

constexpr rlim_t kAllowedGrowthBytes = rlim_t{48} << 20;

// Bytes of this process's address space.
rlim_t addressSpaceBytes() {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

int numberIn(const std::string& text, int otherwise) {
    int number = otherwise;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
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
    /// Before the first failure only.
    void setWitness(std::string file) { m_witness = std::move(file); }

    c10::DataPtr allocate(std::size_t bytes) override {
        if (m_isFailing && bytes > 0) {
            if (!m_witness.empty()) {
                std::ofstream(m_witness) << bytes;
            }
            TORCH_CHECK_WITH(OutOfMemoryError, false, "can't allocate memory: you tried to allocate ", bytes,
                             " bytes, and MODULELENS_WORKER_FAULT allows none");
        }
        return m_memory->allocate(bytes);
    }
    c10::DeleterFnPtr raw_deleter() const override { return m_memory->raw_deleter(); }
    void copy_data(void* target, const void* source, std::size_t count) const override {
        default_copy_data(target, source, count);
    }

private:
    explicit FailingMemory(c10::Allocator* memory) : m_memory(memory) {}
    c10::Allocator* m_memory;
    std::string m_witness;
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
    if (const std::string file = faults.valueOf("once"); !file.empty() && ::unlink(file.c_str()) != 0) {
        faults.m_list.clear();
        return faults;
    }
    faults.m_garbageAfter = numberIn(faults.valueOf("garbage-after"), faults.m_garbageAfter);
    faults.m_letPass = numberIn(faults.valueOf("let-pass"), faults.m_letPass);
    return faults;
}

std::string Faults::valueOf(std::string_view kind) const {
    const std::string key = "," + std::string(kind) + ":";
    const std::size_t at = m_list.find(key);
    if (at == std::string::npos) {
        return {};
    }
    const std::size_t begin = at + key.size();
    return m_list.substr(begin, m_list.find(',', begin) - begin);
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

bool Faults::isDueAt(std::string_view kind, std::string_view stage) {
    if (!has(kind, stage)) {
        return false;
    }
    return m_letPass-- <= 0;
}

void Faults::onStage(std::string_view stage, const std::stop_token& stop) {
    if (isDueAt("kill-at", stage)) {
        (void)std::raise(SIGKILL);
    }
    if (!m_hasHeld && isDueAt("hold-at", stage)) {
        m_hasHeld = true;
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait(lock, stop, [] { return false; });
    }
    if (!m_hasFailedMemory && isDueAt("out-of-memory-at", stage)) {
        m_hasFailedMemory = true;
        FailingMemory::install().setWitness(valueOf("witness"));
        FailingMemory::install().setFailing(true);
    }
}

bool Faults::isGarbageDue() {
    return m_garbageAfter >= 0 && ++m_sent == m_garbageAfter;
}

}  // namespace modulelens::worker
