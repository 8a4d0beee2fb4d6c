// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/base/FileSystem.h"

#include "backend/base/Guarded.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <system_error>

namespace modulelens::base {

namespace {

namespace fs = std::filesystem;

/// Owns a file descriptor. Confined to its thread.
class Descriptor {
public:
    explicit Descriptor(int fd) : m_fd(fd) {}
    ~Descriptor() {
        if (m_fd >= 0) {
            ::close(m_fd);
        }
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    [[nodiscard]] int get() const { return m_fd; }
    /// Gives the descriptor up without closing it.
    [[nodiscard]] int release() { return std::exchange(m_fd, -1); }

private:
    int m_fd = -1;
};

template <class Call>
auto retryInterrupted(Call call) {
    auto result = call();
    while (result == -1 && errno == EINTR) {
        result = call();
    }
    return result;
}

class PosixWritableFile : public WritableFile {
public:
    PosixWritableFile(int fd, fs::path path) : m_descriptor(fd), m_path(std::move(path)) {}

    Result<void> append(std::span<const std::byte> bytes) override {
        while (!bytes.empty()) {
            const ssize_t written = retryInterrupted([&] { return ::write(m_descriptor.get(), bytes.data(), bytes.size()); });
            if (written < 0) {
                return errorFromErrno(errno, "write", m_path);
            }
            bytes = bytes.subspan(static_cast<std::size_t>(written));
        }
        return {};
    }

    Result<void> sync() override {
        if (retryInterrupted([&] { return ::fsync(m_descriptor.get()); }) != 0) {
            return errorFromErrno(errno, "write to disk", m_path);
        }
        return {};
    }

    Result<void> close() override {
        const int fd = m_descriptor.release();
        // After EINTR the descriptor is closed on Linux: closing it again could hit another file.
        if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) {
            return errorFromErrno(errno, "close", m_path);
        }
        return {};
    }

private:
    Descriptor m_descriptor;
    fs::path m_path;
};

class PosixMappedFile : public MappedFile {
public:
    PosixMappedFile(void* address, std::size_t size) : m_address(address), m_size(size) {}
    ~PosixMappedFile() override {
        if (m_address != nullptr) {
            ::munmap(m_address, m_size);
        }
    }
    PosixMappedFile(const PosixMappedFile&) = delete;
    PosixMappedFile& operator=(const PosixMappedFile&) = delete;

    [[nodiscard]] std::span<const std::byte> bytes() const override {
        return {static_cast<const std::byte*>(m_address), m_size};
    }

private:
    void* m_address = nullptr;
    std::size_t m_size = 0;
};

class SlicedFile : public MappedFile {
public:
    SlicedFile(std::shared_ptr<const MappedFile> file, std::span<const std::byte> bytes)
        : m_file(std::move(file)), m_bytes(bytes) {}
    [[nodiscard]] std::span<const std::byte> bytes() const override { return m_bytes; }

private:
    std::shared_ptr<const MappedFile> m_file;
    std::span<const std::byte> m_bytes;
};

Error notRegularFile(const fs::path& path) {
    return {ErrorCode::InvalidArgument, "'" + path.string() + "' is not a regular file", ""};
}

/// Opens a regular file for reading. O_NONBLOCK keeps a named pipe from blocking the open.
Result<std::pair<int, std::uint64_t>> openForReading(const fs::path& path) {
    const int fd = retryInterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
    if (fd < 0) {
        return errorFromErrno(errno, "open", path);
    }
    Descriptor descriptor(fd);
    struct stat status = {};
    if (::fstat(fd, &status) != 0) {
        return errorFromErrno(errno, "open", path);
    }
    if (!S_ISREG(status.st_mode)) {
        return notRegularFile(path);
    }
    return std::pair{descriptor.release(), static_cast<std::uint64_t>(status.st_size)};
}

class PosixFileSystem : public FileSystem {
public:
    Result<std::unique_ptr<WritableFile>> create(const fs::path& path) override {
        const int fd =
            retryInterrupted([&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666); });
        if (fd < 0) {
            return errorFromErrno(errno, "create", path);
        }
        return guarded("creating a file",
                       [&] { return std::unique_ptr<WritableFile>(std::make_unique<PosixWritableFile>(fd, path)); });
    }

    Result<std::shared_ptr<const MappedFile>> map(const fs::path& path) override {
        const auto opened = openForReading(path);
        if (!opened) {
            return opened.error();
        }
        const Descriptor descriptor(opened->first);
        const auto size = static_cast<std::size_t>(opened->second);
        void* address = nullptr;
        if (size > 0) {
            address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.get(), 0);
            if (address == MAP_FAILED) {
                return errorFromErrno(errno, "map", path);
            }
        }
        return guarded("mapping a file",
                       [&] { return std::shared_ptr<const MappedFile>(std::make_shared<PosixMappedFile>(address, size)); });
    }

    Result<std::string> read(const fs::path& path, std::uint64_t limitBytes) override {
        const auto opened = openForReading(path);
        if (!opened) {
            return opened.error();
        }
        const Descriptor descriptor(opened->first);
        if (opened->second > limitBytes) {
            return Error{ErrorCode::InvalidArgument,
                         "'" + path.string() + "' holds " + std::to_string(opened->second) + " bytes, more than the " +
                             std::to_string(limitBytes) + " that are read at once",
                         ""};
        }
        return guarded("reading a file", [&] { return readAll(descriptor.get(), opened->second, path); });
    }

    Result<void> rename(const fs::path& from, const fs::path& to) override {
        if (::rename(from.c_str(), to.c_str()) != 0) {
            return errorFromErrno(errno, "rename to '" + to.string() + "'", from);
        }
        return {};
    }

    Result<void> remove(const fs::path& path) override {
        std::error_code code;
        fs::remove_all(path, code);
        return code ? Result<void>(errorFromErrno(code.value(), "remove", path)) : Result<void>();
    }

    Result<std::uint64_t> sizeBytes(const fs::path& path) override {
        struct stat status = {};
        if (::stat(path.c_str(), &status) != 0) {
            return errorFromErrno(errno, "open", path);
        }
        if (!S_ISREG(status.st_mode)) {
            return notRegularFile(path);
        }
        return static_cast<std::uint64_t>(status.st_size);
    }

    Result<void> createDirectories(const fs::path& path) override {
        std::error_code code;
        fs::create_directories(path, code);
        if (code) {
            return errorFromErrno(code.value(), "create the folder", path);
        }
        if (!fs::is_directory(path, code)) {
            return errorFromErrno(code ? code.value() : ENOTDIR, "create the folder", path);
        }
        return {};
    }

    Result<void> syncDirectory(const fs::path& directory) override {
        const Descriptor descriptor(
            retryInterrupted([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
        if (descriptor.get() < 0 || retryInterrupted([&] { return ::fsync(descriptor.get()); }) != 0) {
            return errorFromErrno(errno, "write to disk", directory);
        }
        return {};
    }

    Result<std::vector<std::string>> listFiles(const fs::path& directory) override {
        return guarded("listing '" + directory.string() + "'", [&] { return collectFiles(directory); });
    }

private:
    static Result<std::string> readAll(int fd, std::uint64_t size, const fs::path& path) {
        std::string text(static_cast<std::size_t>(size), '\0');
        std::size_t done = 0;
        while (done < text.size()) {
            const ssize_t got = retryInterrupted([&] { return ::read(fd, text.data() + done, text.size() - done); });
            if (got < 0) {
                return errorFromErrno(errno, "read", path);
            }
            if (got == 0) {
                break;
            }
            done += static_cast<std::size_t>(got);
        }
        text.resize(done);
        return text;
    }

    static Result<std::vector<std::string>> collectFiles(const fs::path& directory) {
        std::vector<std::string> names;
        for (fs::recursive_directory_iterator i(directory); i != fs::recursive_directory_iterator(); ++i) {
            const fs::file_status status = i->symlink_status();
            if (fs::is_directory(status)) {
                continue;
            }
            const std::string name = i->path().lexically_relative(directory).generic_string();
            if (!fs::is_regular_file(status)) {
                return Error{
                    ErrorCode::InvalidArgument,
                    "'" + name + "' in '" + directory.string() + "' is a symbolic link or a special file, which is refused",
                    "Copy the file itself into the folder."};
            }
            names.push_back(name);
        }
        std::sort(names.begin(), names.end());
        return names;
    }
};

ErrorCode codeFromErrno(int errorNumber) {
    switch (errorNumber) {
        case ENOSPC:
        case EDQUOT:
            return ErrorCode::StorageFull;
        case EACCES:
        case EPERM:
        case EROFS:
            return ErrorCode::PermissionDenied;
        case ENOENT:
        case ENOTDIR:
            return ErrorCode::NotFound;
        case EEXIST:
            return ErrorCode::AlreadyExists;
        case ENOMEM:
            return ErrorCode::OutOfMemory;
        default:
            return ErrorCode::Internal;
    }
}

const char* fixFor(ErrorCode code) {
    switch (code) {
        case ErrorCode::StorageFull:
            return "Free some space on that disk or choose another folder.";
        case ErrorCode::PermissionDenied:
            return "Check the owner and the permissions of that folder, or choose another one.";
        case ErrorCode::NotFound:
            return "Check the path.";
        default:
            return "";
    }
}

}  // namespace

Error errorFromErrno(int errorNumber, std::string_view doing, const fs::path& path) {
    const ErrorCode code = codeFromErrno(errorNumber);
    return {code,
            "could not " + std::string(doing) + " '" + path.string() + "': " + std::generic_category().message(errorNumber),
            fixFor(code)};
}

Result<std::shared_ptr<const MappedFile>> sliceOf(std::shared_ptr<const MappedFile> file, std::uint64_t offset,
                                                  std::uint64_t sizeBytes) {
    const std::span<const std::byte> all = file->bytes();
    if (offset > all.size() || sizeBytes > all.size() - offset) {
        return Error{ErrorCode::Corrupt,
                     "bytes " + std::to_string(offset) + " and " + std::to_string(sizeBytes) + " more lie outside a file of " +
                         std::to_string(all.size()) + " bytes",
                     ""};
    }
    const std::span<const std::byte> part = all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(sizeBytes));
    return std::shared_ptr<const MappedFile>(std::make_shared<SlicedFile>(std::move(file), part));
}

FileSystem& realFileSystem() {
    static PosixFileSystem instance;
    return instance;
}

}  // namespace modulelens::base
