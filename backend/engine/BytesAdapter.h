// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/FileSystem.h"

#include <caffe2/serialize/read_adapter_interface.h>
#include <algorithm>
#include <cstring>
#include <memory>

namespace modulelens::engine {

/// Lets LibTorch's archive readers read a mapped file. Immutable after construction.
class BytesAdapter : public caffe2::serialize::ReadAdapterInterface {
public:
    explicit BytesAdapter(std::shared_ptr<const base::MappedFile> file) : m_file(std::move(file)) {}

    size_t size() const override { return m_file->bytes().size(); }
    size_t read(uint64_t position, void* buffer, size_t count, const char*) const override {
        const std::span<const std::byte> bytes = m_file->bytes();
        if (position >= bytes.size()) {
            return 0;
        }
        const std::size_t taken = std::min<std::size_t>(count, bytes.size() - position);
        std::memcpy(buffer, bytes.data() + position, taken);
        return taken;
    }

private:
    std::shared_ptr<const base::MappedFile> m_file;
};

}  // namespace modulelens::engine
