// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/TensorStore.h"

#include "backend/capture/Bundle.h"

#include "backend/base/FileSystem.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>

namespace modulelens::engine {

namespace {

struct Descriptor {
    int value = -1;
    ~Descriptor() {
        if (value >= 0) {
            ::close(value);
        }
    }
};

}  // namespace

base::Result<std::shared_ptr<FileMapping>> FileMapping::open(const std::string& path) {
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    struct stat status{};
    if (file.value < 0 || ::fstat(file.value, &status) != 0) {
        return base::errorFromErrno(errno, "open", path);
    }
    std::shared_ptr<FileMapping> mapping(new FileMapping);
    if (!S_ISREG(status.st_mode) || status.st_size == 0) {
        return mapping;
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    void* writable = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.value, 0);
    if (writable == MAP_FAILED) {
        return base::errorFromErrno(errno, "map", path);
    }
    mapping->m_writable = static_cast<std::byte*>(writable);
    mapping->m_sizeBytes = size;
    void* pristine = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
    if (pristine == MAP_FAILED) {
        return base::errorFromErrno(errno, "map", path);
    }
    mapping->m_pristine = static_cast<const std::byte*>(pristine);
    return mapping;
}

FileMapping::~FileMapping() {
    if (m_writable != nullptr) {
        ::munmap(m_writable, m_sizeBytes);
    }
    if (m_pristine != nullptr) {
        ::munmap(const_cast<std::byte*>(m_pristine), m_sizeBytes);
    }
}

base::Result<void> TensorStore::add(const std::vector<protocol::Extent>& extents) {
    for (const protocol::Extent& extent : extents) {
        if (findDigest(extent.digest) != nullptr) {
            continue;
        }
        std::shared_ptr<FileMapping>& mapping = m_files[extent.file];
        if (!mapping) {
            auto opened = FileMapping::open(extent.file);
            if (!opened) {
                m_files.erase(extent.file);
                return opened.error().within("tensor data");
            }
            mapping = std::move(opened).value();
        }
        if (extent.offset > mapping->sizeBytes() || extent.length > mapping->sizeBytes() - extent.offset) {
            return base::Error{base::ErrorCode::Corrupt,
                               "tensor data: " + extent.file + " is too short for the tensor " + extent.digest.substr(0, 12),
                               "Verify the registry or import the bundle again."};
        }
        m_data[extent.digest] = {mapping, mapping->writable() + extent.offset, mapping->pristine() + extent.offset,
                                 static_cast<std::size_t>(extent.length)};
    }
    return {};
}

StoredData* TensorStore::findDigest(const std::string& digest) const {
    const auto found = m_data.find(digest);
    if (found != m_data.end()) {
        return &found->second;
    }
    return m_parent != nullptr ? m_parent->findDigest(digest) : nullptr;
}

base::Result<StoredData> TensorStore::find(const capture::TensorReference& reference) const {
    if (reference.digest.empty()) {
        return base::Error{base::ErrorCode::NotFound, "its data was not captured (" + reference.gap + ")",
                           "Capture the module again without the limit that left it out."};
    }
    StoredData* data = findDigest(reference.digest);
    if (data == nullptr) {
        return base::Error{base::ErrorCode::NotFound, "no data was given for the tensor " + reference.digest.substr(0, 12), ""};
    }
    if (reference.storedBytes() < 0 || data->sizeBytes != static_cast<std::size_t>(reference.storedBytes())) {
        return base::Error{base::ErrorCode::Corrupt,
                           "the length of tensor " + reference.digest.substr(0, 12) + " does not fit its shape",
                           "Verify the registry or import the bundle again."};
    }
    if (!data->isVerified) {
        const base::Result<void> checked = capture::checkTensorData(reference, {data->pristine, data->sizeBytes});
        if (!checked) {
            return checked.error();
        }
        data->isVerified = true;
    }
    return *data;
}

}  // namespace modulelens::engine
