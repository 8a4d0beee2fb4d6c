// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/MemoryTimelineFile.h"

#include "backend/base/FileSystem.h"
#include "backend/capture/Safetensors.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace modulelens::engine {

namespace {

/// The columns of one history, kept until they are written.
struct Columns {
    std::vector<std::int64_t> timeNs;
    std::vector<std::int64_t> bytes;
    std::vector<std::int64_t> alive;
    std::vector<std::int32_t> row;
    std::vector<std::int32_t> block;
    std::vector<std::uint8_t> phase;
};

Columns columnsOf(const MemoryHistory& history) {
    Columns columns;
    for (const MemoryEvent& event : history.events) {
        columns.timeNs.push_back(event.timeNs);
        columns.bytes.push_back(event.bytes);
        columns.alive.push_back(event.alive);
        columns.row.push_back(event.row);
        columns.block.push_back(event.block);
        columns.phase.push_back(static_cast<std::uint8_t>(event.phase));
    }
    return columns;
}

template <class Value>
capture::SafetensorsInput input(const std::string& key, const char* dtype, const std::vector<Value>& values) {
    return {key, dtype, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span<const Value>(values))};
}

void addColumns(const std::string& name, const Columns& columns, std::vector<capture::SafetensorsInput>& tensors) {
    tensors.push_back(input(name + ".time_ns", "I64", columns.timeNs));
    tensors.push_back(input(name + ".bytes", "I64", columns.bytes));
    tensors.push_back(input(name + ".alive", "I64", columns.alive));
    tensors.push_back(input(name + ".row", "I32", columns.row));
    tensors.push_back(input(name + ".block", "I32", columns.block));
    tensors.push_back(input(name + ".phase", "U8", columns.phase));
}

nlohmann::json summary(const MemoryHistory& history) {
    return {{"peak_bytes", history.peakBytes},
            {"peak_event", history.peakBytes > 0 ? nlohmann::json(history.peakEvent) : nlohmann::json()}};
}

}  // namespace

base::Result<void> writeMemoryTimeline(const std::filesystem::path& file, const std::vector<TimelineRow>& rows,
                                       const MemoryHistory& forward, const MemoryHistory* training) {
    std::vector<capture::SafetensorsInput> tensors;
    const Columns forwardColumns = columnsOf(forward);
    addColumns("forward", forwardColumns, tensors);
    nlohmann::json runs = {{"forward", summary(forward)}};
    Columns trainingColumns;
    if (training != nullptr) {
        trainingColumns = columnsOf(*training);
        addColumns("training", trainingColumns, tensors);
        runs["training"] = summary(*training);
    }
    nlohmann::json listed = nlohmann::json::array();
    for (const TimelineRow& row : rows) {
        listed.push_back({{"module", row.module}, {"call", row.call}, {"name", row.name}});
    }
    const nlohmann::json document = {{"rows", std::move(listed)}, {"runs", std::move(runs)}};
    const std::map<std::string, std::string> metadata = {
        {"format", "modulelens.memory"},
        {"schema_version", "1"},
        {"timeline", document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)}};
    auto written = capture::writeSafetensors(base::realFileSystem(), file, tensors, metadata);
    if (!written) {
        (void)base::realFileSystem().remove(file);
        return written.error();
    }
    return {};
}

}  // namespace modulelens::engine
