// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/TensorMemory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

namespace modulelens::engine {

namespace {

// LibTorch's kernels choose by alignment, so blocks are aligned as its own allocator aligns them.
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSmallest = 64;
constexpr std::size_t kLargest = std::size_t{1} << 20;
constexpr std::size_t kStepsOfDoubling = 4;
constexpr std::size_t kDoublings = std::bit_width(kLargest) - std::bit_width(kSmallest);
constexpr std::size_t kClasses = kDoublings * kStepsOfDoubling + 1;
constexpr std::size_t kMostKeptBytes = std::size_t{64} << 20;

/// Before the memory of each tensor.
struct alignas(kAlignment) Header {
    Header* next = nullptr;      ///< While the block is kept.
    std::size_t sizeBytes = 0;   ///< Of the memory behind the header.
    std::size_t sizeClass = kClasses;  ///< kClasses: too large to be kept.
};
static_assert(sizeof(Header) == kAlignment);

/// Sizes grow by a quarter of a power of two, so that at most a fifth of a block is unused.
std::size_t classOf(std::size_t bytes) {
    if (bytes <= kSmallest) {
        return 0;
    }
    const auto doubling = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;
    const std::size_t step = (std::size_t{1} << doubling) / kStepsOfDoubling;
    const std::size_t steps = (bytes - (std::size_t{1} << doubling) + step - 1) / step;
    return (doubling - (static_cast<std::size_t>(std::bit_width(kSmallest)) - 1)) * kStepsOfDoubling + steps;
}

std::size_t bytesOf(std::size_t sizeClass) {
    const std::size_t base = kSmallest << (sizeClass / kStepsOfDoubling);
    return base + base / kStepsOfDoubling * (sizeClass % kStepsOfDoubling);
}

/// Free blocks by size class. Thread-safe: who finds it in use does without it.
class KeptBlocks {
public:
    Header* take(std::size_t sizeClass) {
        const Turn turn(m_isInUse);
        Header* block = turn.isMine ? m_first[sizeClass] : nullptr;
        if (block != nullptr) {
            m_first[sizeClass] = block->next;
            m_bytes -= block->sizeBytes;
        }
        return block;
    }

    bool keep(Header* block) {
        const Turn turn(m_isInUse);
        if (!turn.isMine || m_bytes + block->sizeBytes > kMostKeptBytes) {
            return false;
        }
        block->next = m_first[block->sizeClass];
        m_first[block->sizeClass] = block;
        m_bytes += block->sizeBytes;
        return true;
    }

    void release() {
        std::array<Header*, kClasses> lists{};
        {
            const Turn turn(m_isInUse);
            if (!turn.isMine) {
                return;
            }
            lists.swap(m_first);
            m_bytes = 0;
        }
        for (Header* block : lists) {
            while (block != nullptr) {
                Header* const next = block->next;
                c10::free_cpu(block);
                block = next;
            }
        }
    }

private:
    struct Turn {
        explicit Turn(std::atomic_flag& flag) : isInUse(flag), isMine(!flag.test_and_set(std::memory_order_acquire)) {}
        ~Turn() {
            if (isMine) {
                isInUse.clear(std::memory_order_release);
            }
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        std::atomic_flag& isInUse;
        const bool isMine;
    };

    std::atomic_flag m_isInUse;
    std::array<Header*, kClasses> m_first{};
    std::size_t m_bytes = 0;
};

KeptBlocks& keptBlocks() {
    // Never destroyed: tensors may outlive main().
    static auto* blocks = new KeptBlocks;
    return *blocks;
}

Header* newBlock(std::size_t bytes, std::size_t sizeClass) {
    // A size that no memory has is refused by name, not wrapped around.
    const std::size_t whole = bytes > static_cast<std::size_t>(PTRDIFF_MAX) ? bytes : sizeof(Header) + bytes;
    auto* block = new (c10::alloc_cpu(whole)) Header;
    block->sizeBytes = bytes;
    block->sizeClass = sizeClass;
    return block;
}

void giveBack(void* memory) {
    if (memory == nullptr) {
        return;
    }
    c10::profiledCPUMemoryReporter().Delete(memory);
    Header* const block = static_cast<Header*>(memory) - 1;
    if (block->sizeClass == kClasses || !keptBlocks().keep(block)) {
        c10::free_cpu(block);
    }
}

/// LibTorch's allocator of CPU memory in this process. Thread-safe.
class TensorMemory : public c10::Allocator {
public:
    c10::DataPtr allocate(std::size_t bytes) override {
        if (bytes == 0) {
            return {nullptr, nullptr, &giveBack, c10::Device(c10::DeviceType::CPU)};
        }
        void* const memory = blockFor(bytes) + 1;
        c10::profiledCPUMemoryReporter().New(memory, bytes);
        return {memory, memory, &giveBack, c10::Device(c10::DeviceType::CPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &giveBack; }
    void copy_data(void* target, const void* source, std::size_t count) const override {
        default_copy_data(target, source, count);
    }

private:
    static Header* blockFor(std::size_t bytes) {
        const std::size_t sizeClass = bytes > kLargest ? kClasses : classOf(bytes);
        if (sizeClass != kClasses) {
            if (Header* const kept = keptBlocks().take(sizeClass)) {
                return kept;
            }
        }
        try {
            return newBlock(sizeClass == kClasses ? bytes : bytesOf(sizeClass), sizeClass);
        } catch (const c10::Error&) {
            releaseTensorMemory();
            c10::profiledCPUMemoryReporter().OutOfMemory(bytes);
            throw;
        }
    }
};

// glibc gives large blocks back to the system when they are freed and faults them in again at the next run, which costs up
// to a sixth of a run.
void keepLargeBlocks() {
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

}  // namespace

void installTensorMemory() {
    static std::once_flag once;
    std::call_once(once, [] {
        keepLargeBlocks();
#if !defined(__SANITIZE_ADDRESS__)  // It watches each block for itself.
        static auto* memory = new TensorMemory;
        c10::SetCPUAllocator(memory, 1);
#endif
    });
}

void releaseTensorMemory() {
    keptBlocks().release();
}

}  // namespace modulelens::engine
