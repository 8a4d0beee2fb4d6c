// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// A .pt2 or .mlens file: the zip directory, the pickle rules, the program inside.
#include "backend/base/ArchiveSafety.h"
#include "backend/graph/ProgramArchive.h"
#include "tests/fuzz/FuzzInput.h"
#include "tests/support/MemoryFile.h"

using namespace modulelens;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t sizeBytes) {
    const auto file = test::memoryFile(fuzz::textOf(data, sizeBytes));
    const auto zip = base::ZipReader::open(file, "fuzz");
    if (zip) {
        (void)zip->checkEveryByteIsExplained();
        (void)base::checkArchiveHoldsNoPickle(*zip, "fuzz");
        for (const auto& [name, member] : zip->members()) {
            fuzz::require(base::checkRelativeName(name, "fuzz").operator bool());
            fuzz::require(member.offset <= sizeBytes && member.sizeBytes <= sizeBytes - member.offset);
            fuzz::require(zip->bytes(name)->size() == member.sizeBytes);
        }
    }
    const bool isSafe = graph::checkArchiveIsSafe(file, "fuzz").operator bool();
    const auto archive = graph::readProgramArchive(file, "fuzz");
    fuzz::require(!archive || isSafe);
    if (archive) {
        for (const auto& [name, constant] : archive->constants) {
            fuzz::require(constant.offset <= sizeBytes && constant.sizeBytes <= sizeBytes - constant.offset);
        }
    }
    return 0;
}
