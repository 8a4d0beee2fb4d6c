// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace modulelens::worker {

/// The two ends that the protocol runs over. Standard output is taken for the protocol alone: what any library prints
/// there goes to standard error instead. Externally synchronised.
class Channel {
public:
    /// Requires: called first in main(), once.
    [[nodiscard]] static Channel takeStandardStreams();

    /// Writes all of `bytes`; false when the other end is gone.
    bool write(std::string_view bytes) const;
    /// Waits for input and gives what is there, at most `capacity` bytes; empty at the end of input.
    [[nodiscard]] std::string_view read(char* buffer, std::size_t capacity) const;

private:
    int m_in = 0;
    int m_out = 1;
};

}  // namespace modulelens::worker
