// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/StateBytes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace modulelens::engine {

namespace {

/// Bytes of one storage that are counted already: begin to end of ranges that do not touch.
class Covered {
public:
    /// Adds a range and returns how many bytes of it are new.
    std::int64_t add(std::int64_t begin, std::int64_t end) {
        std::int64_t fresh = std::max<std::int64_t>(end - begin, 0);
        auto range = m_ranges.upper_bound(begin);
        if (range != m_ranges.begin() && std::prev(range)->second >= begin) {
            --range;
        }
        while (range != m_ranges.end() && range->first <= end) {
            fresh -= std::max<std::int64_t>(std::min(range->second, end) - std::max(range->first, begin), 0);
            begin = std::min(begin, range->first);
            end = std::max(end, range->second);
            range = m_ranges.erase(range);
        }
        m_ranges[begin] = end;
        return fresh;
    }

private:
    std::map<std::int64_t, std::int64_t> m_ranges;
};

std::int64_t extentBytes(const capture::TensorReference& tensor) {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        if (tensor.shape[i] == 0) {
            return 0;
        }
        last += (tensor.shape[i] - 1) * tensor.stride[i];
    }
    return (last + 1) * base::elementSizeBytes(tensor.dtype);
}

std::vector<std::string> namesInOrder(const graph::Program& program,
                                      const std::map<std::string, capture::StateTensor>& tensors) {
    std::vector<std::string> names;
    std::set<std::string> isListed;
    const auto list = [&](const std::string& name) {
        if (isListed.insert(name).second) {
            names.push_back(name);
        }
    };
    for (const graph::InputSpec& spec : program.inputs) {
        if (spec.kind == graph::InputKind::Parameter) {
            list(spec.target);
        }
    }
    for (const auto& [name, tensor] : tensors) {
        list(name);
    }
    return names;
}

}  // namespace

StateBytes stateBytes(const graph::Program& program, const std::map<std::string, capture::StateTensor>& tensors) {
    StateBytes result;
    std::map<std::int64_t, Covered> storages;
    const std::vector<std::string> names = namesInOrder(program, tensors);
    const auto count = [&](bool wantsBuffers, std::vector<OwnBytes>& owners, std::int64_t& total) {
        for (const std::string& name : names) {
            const auto found = tensors.find(name);
            if (found == tensors.end() || found->second.isBuffer != wantsBuffers) {
                continue;
            }
            const capture::TensorReference& tensor = found->second.tensor;
            const std::int64_t extent = extentBytes(tensor);
            const std::int64_t begin = tensor.offset * base::elementSizeBytes(tensor.dtype);
            const std::int64_t bytes = tensor.storage ? storages[*tensor.storage].add(begin, begin + extent) : extent;
            if (bytes == 0 && extent > 0) {
                continue;
            }
            const std::size_t dot = name.rfind('.');
            owners.push_back({dot == std::string::npos ? std::string() : name.substr(0, dot), bytes});
            total += bytes;
        }
    };
    count(false, result.parameters, result.parameterBytes);
    count(true, result.buffers, result.bufferBytes);
    return result;
}

}  // namespace modulelens::engine
