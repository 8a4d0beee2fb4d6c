// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/WorkingCopy.h"

#include "backend/base/Digest.h"
#include "backend/base/FileSystem.h"
#include "backend/base/ZipWriter.h"
#include "backend/registry/Registry.h"
#include "backend/registry/VersionAddress.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace modulelens::operations {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestPart = 60;
constexpr int kMostAside = 10000;

/// "package.module:Outer.Inner" in its parts.
struct ClassName {
    explicit ClassName(const std::string& captured)
        : home(captured.substr(0, captured.find(':'))),
          qualified(captured.substr(std::min(captured.size(), captured.find(':') + 1))),
          bare(qualified.substr(qualified.rfind('.') + 1)) {}

    /// A class of the training script, or one made inside a function: no other program can import it.
    [[nodiscard]] bool isImportable() const {
        return !home.empty() && home != "__main__" && qualified.find("<locals>") == std::string::npos;
    }

    std::string home;
    std::string qualified;
    std::string bare;
};

/// As a part of a file name.
std::string plain(std::string text) {
    for (char& c : text) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') {
            c = '-';
        }
    }
    if (text.size() > kLongestPart) {
        text = text.substr(text.size() - kLongestPart);
    }
    return text.empty() || text.front() == '.' ? '_' + text : text;
}

std::string oneLine(std::string text) {
    std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
    return text;
}

/// The text of a class inside another stands further right. Blank lines have no say in how far.
std::string withoutIndent(const std::string& text) {
    const std::size_t indent = text.find_first_not_of(" \t");
    if (indent == 0 || indent == std::string::npos) {
        return text;
    }
    const std::string_view margin(text.data(), indent);
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        std::string_view line(text.data() + at, end - at);
        if (line.substr(0, indent) == margin) {
            line.remove_prefix(indent);
        }
        result += line;
        at = end;
    }
    return result;
}

bool usesName(const std::string& text, std::string_view name) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
        const unsigned char before = at == 0 ? ' ' : static_cast<unsigned char>(text[at - 1]);
        if (std::isalnum(before) == 0 && before != '_' && before != '.') {
            return true;
        }
    }
    return false;
}

/// What a class written in a script is likely to need: its own imports were not captured.
std::string likelyImports(const std::string& text) {
    struct Import {
        std::string_view used;
        std::string_view line;
    };
    constexpr std::array kImports = {Import{"torch.", "import torch"},
                                     Import{"nn.", "from torch import nn"},
                                     Import{"F.", "import torch.nn.functional as F"},
                                     Import{"Tensor", "from torch import Tensor"},
                                     Import{"math.", "import math"},
                                     Import{"np.", "import numpy as np"}};
    std::string lines;
    for (const Import& import : kImports) {
        if (usesName(text, import.used)) {
            lines += std::string(import.line) + '\n';
        }
    }
    return lines;
}

std::string heading(const ClassName& name, const std::string& address) {
    return "# " + oneLine(name.bare + " of " + address) + ", as captured. Every save is run on the captured inputs.\n";
}

std::string textFromSource(const ClassName& name, const std::string& address, const std::string& source) {
    std::string text = withoutIndent(source);
    if (!text.empty() && text.back() != '\n') {
        text += '\n';
    }
    if (name.isImportable()) {
        return heading(name, address) + "# The names of " + oneLine(name.home) + " are known here without an import.\n\n\n" +
               text;
    }
    const std::string imports = likelyImports(text);
    return heading(name, address) + "# The script that it was written in cannot be imported: what it uses is imported here.\n" +
           imports + "\n\n" + text;
}

bool isDottedName(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '.' || c >= 0x80;
    });
}

std::string textFromClass(const ClassName& name, const std::string& address) {
    return heading(name, address) + "# The capture holds no source of it, so this derives from the class that is installed.\n" +
           "import " + name.home + " as installed\n\n\nclass " + name.bare + "(installed." + name.qualified +
           "):\n    def forward(self, *args, **kwargs):\n        return super().forward(*args, **kwargs)\n";
}

/// Writes the file whole or not at all; a file that stands there already stays.
base::Result<bool> writeNew(const fs::path& file, const std::string& text) {
    base::FileSystem& files = base::realFileSystem();
    if (base::Result<void> made = files.createDirectories(file.parent_path()); !made) {
        return made.error();
    }
    const fs::path part = file.string() + '.' + std::to_string(::getpid());
    if (base::Result<void> removed = files.remove(part); !removed) {
        return removed.error();
    }
    base::Result<std::unique_ptr<base::WritableFile>> written = files.create(part);
    if (!written) {
        return written.error();
    }
    base::Result<void> done = (*written)->append(base::bytesOf(text));
    if (done) {
        done = (*written)->close();
    }
    std::error_code failed;
    if (done) {
        // Unlike a rename, a link never replaces a file.
        fs::create_hard_link(part, file, failed);
    }
    static_cast<void>(files.remove(part));
    if (!done) {
        return done.error();
    }
    if (failed == std::errc::file_exists) {
        return false;
    }
    return failed ? base::Result<bool>(base::errorFromErrno(failed.value(), "write", file)) : base::Result<bool>(true);
}

} // namespace

fs::path workingCopyFolder() {
    const auto setting = [](const char* name) {
        const char* value = std::getenv(name);
        return value != nullptr && *value == '/' ? fs::path(value) : fs::path();
    };
    if (const fs::path data = setting("XDG_DATA_HOME"); !data.empty()) {
        return data / "modulelens" / "edited";
    }
    const fs::path home = setting("HOME");
    return home.empty() ? fs::path() : home / ".local" / "share" / "modulelens" / "edited";
}

base::Result<WorkingCopy> prepareWorkingCopy(registry::Registry& registry, const std::string& addressOrId,
                                             const fs::path& folder) {
    if (folder.empty()) {
        return base::Error{base::ErrorCode::NotFound, "there is no folder for edited source, since HOME is not set",
                           "Set HOME or XDG_DATA_HOME."};
    }
    const base::Result<registry::VersionSummary> version = registry.resolve(addressOrId);
    if (!version) {
        return version.error();
    }
    const base::Result<capture::VersionDocument> document = registry.versionDocument(version->id);
    if (!document) {
        return document.error();
    }
    const base::Result<capture::NodeDocument> node = registry.node(document->stateDigest);
    if (!node) {
        return node.error();
    }
    const ClassName name(node->className);
    const std::string address = registry::formatVersionAddress(version->model, version->module, version->number);
    WorkingCopy copy;
    copy.className = name.bare;
    const std::string identity = version->model + '\0' + version->module + '\0' + document->stateDigest + node->source;
    copy.file = folder /
                (plain(version->model) + '-' + plain(version->module) + "-v" + std::to_string(version->number) + '-' +
                 base::sha256Hex(identity).substr(0, 8)) /
                (plain(name.bare) + ".py");
    std::error_code ignored;
    if (fs::exists(copy.file, ignored)) {
        return copy;
    }
    copy.isFrame = node->source.empty();
    std::string text;
    if (!copy.isFrame) {
        const base::Result<std::string> source = registry.source(node->source);
        if (!source) {
            return source.error();
        }
        text = textFromSource(name, address, *source);
    } else if (name.isImportable() && isDottedName(name.home) && isDottedName(name.qualified)) {
        text = textFromClass(name, address);
    } else {
        return base::Error{base::ErrorCode::Unsupported,
                           "the capture holds no source of " + node->className + ", and the class cannot be imported either",
                           "Write the class yourself and verify it with modulelens verify --source FILE."};
    }
    const base::Result<bool> written = writeNew(copy.file, text);
    if (!written) {
        return written.error().within("the file for edited source");
    }
    copy.isNew = *written;
    return copy;
}

base::Result<fs::path> putAside(const fs::path& file) {
    for (int number = 1; number < kMostAside; ++number) {
        const fs::path aside = file.parent_path() / (file.stem().string() + '-' + std::to_string(number) + ".py");
        std::error_code failed;
        fs::create_hard_link(file, aside, failed);
        if (!failed) {
            const base::Result<void> removed = base::realFileSystem().remove(file);
            return removed ? base::Result<fs::path>(aside) : removed.error();
        }
        if (failed != std::errc::file_exists) {
            return base::errorFromErrno(failed.value(), "put aside", file);
        }
    }
    return base::Error{base::ErrorCode::AlreadyExists, "too many files stand beside '" + file.string() + "'", "Remove some."};
}

} // namespace modulelens::operations
