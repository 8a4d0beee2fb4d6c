// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/TensorMemory.h"

#include "tests/support/TestMain.h"

#include <QTest>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

using namespace modulelens;

namespace {

/// What LibTorch is told of allocations.
class Reports : public c10::MemoryReportingInfoBase {
public:
    void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override { all.push_back(bytes); }
    [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }

    std::vector<std::int64_t> all;
};

c10::DataPtr allocate(std::size_t bytes) {
    return c10::GetCPUAllocator()->allocate(bytes);
}

}  // namespace

class TensorMemoryTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { engine::installTensorMemory(); }

    void blocksOfEverySize_areAlignedAndApart() {
        std::vector<std::size_t> sizes;
        for (std::size_t around = 1; around <= (std::size_t{1} << 21); around *= 2) {
            for (const std::size_t size : {around - 1, around, around + 1, around + around / 3}) {
                sizes.push_back(std::max<std::size_t>(size, 1));
            }
        }
        for (int round = 0; round < 3; ++round) {
            std::vector<c10::DataPtr> blocks;
            blocks.reserve(sizes.size());
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                blocks.push_back(allocate(sizes[i]));
                QCOMPARE(reinterpret_cast<std::uintptr_t>(blocks.back().get()) % 64, std::uintptr_t{0});
                std::memset(blocks.back().mutable_get(), static_cast<int>(i % 251), sizes[i]);
            }
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                const auto* bytes = static_cast<const unsigned char*>(blocks[i].get());
                QVERIFY(std::all_of(bytes, bytes + sizes[i], [&](unsigned char byte) { return byte == i % 251; }));
            }
        }
    }

    void nothing_hasNoMemory() { QVERIFY(allocate(0).get() == nullptr); }

    void freedBlock_servesTheNextOfItsSize() {
        const void* first = allocate(5000).get();
#if !defined(__SANITIZE_ADDRESS__)
        QVERIFY(allocate(4990).get() == first);
        engine::releaseTensorMemory();
#endif
        (void)first;
    }

    void reports_nameTheBytesAskedFor() {
        const auto reports = std::make_shared<Reports>();
        {
            const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, reports);
            for (const std::size_t bytes : {std::size_t{100}, std::size_t{3'000'000}}) {
                (void)allocate(bytes);
            }
        }
        QVERIFY((reports->all == std::vector<std::int64_t>{100, -100, 3'000'000, -3'000'000}));
    }

    void sizeThatNoMemoryHas_isAnError() {
        for (const std::size_t bytes : {std::numeric_limits<std::size_t>::max() - 7, std::size_t{1} << 62}) {
            QVERIFY_THROWS_EXCEPTION(c10::Error, (void)allocate(bytes));
        }
    }
};

ML_TEST_MAIN(TensorMemoryTest)
#include "tst_TensorMemory.moc"
