// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// A safetensors file: tensors of a bundle, profiles.
#include "backend/capture/Safetensors.h"
#include "tests/fuzz/FuzzInput.h"
#include "tests/support/MemoryFile.h"

using namespace modulelens;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t sizeBytes) {
    const auto file = test::memoryFile(fuzz::textOf(data, sizeBytes));
    const auto header = capture::readSafetensorsHeader(file->bytes(), "fuzz");
    if (header) {
        for (const auto& [name, entry] : header->entries) {
            fuzz::require(entry.offset <= sizeBytes && entry.sizeBytes <= sizeBytes - entry.offset);
        }
    }
    return 0;
}
