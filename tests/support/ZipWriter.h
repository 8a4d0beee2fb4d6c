// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace modulelens::test {

/// A member of a zip made by a test. The odd fields make archives that a reader must refuse.
struct ZipEntry {
    std::string name;
    std::string data;
    std::uint16_t method = 0;         ///< 8 claims that the data is deflated.
    std::uint16_t flags = 0;          ///< 1 claims that it is encrypted.
    std::string localName = {};       ///< Name in the local header when it is to differ from `name`.
};

/// The bytes of a zip with these members, stored. With `zip64` every size and offset of the directory stands in its 64-bit
/// extra field.
[[nodiscard]] std::string makeZip(const std::vector<ZipEntry>& entries, bool zip64 = false);

}  // namespace modulelens::test
