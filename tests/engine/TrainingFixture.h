// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/engine/Engine.h"
#include "backend/profile/ProfileFile.h"
#include "backend/protocol/MemoryMessages.h"
#include "tests/support/CapturedModule.h"
#include "tests/support/ValueOf.h"

#include <QTemporaryDir>

namespace modulelens::test {

inline const std::string kTrainingSet = "training";

/// An engine with the modules of capture_training.py. Confined to its thread.
class TrainingFixture {
public:
    TrainingFixture() {
        protocol::InitializeParams params;
        params.scratchFolder = m_scratch.path().toStdString();
        params.threads = 2;
        (void)valueOf(engine.initialize(params));
    }

    [[nodiscard]] static bool hasCaptures() { return !capturedModules(kTrainingSet).empty(); }
    [[nodiscard]] int load(const CapturedModule& module) { return valueOf(engine.load(module.loadParams(), {})).handle; }
    [[nodiscard]] protocol::ValidateResult gradients(const std::string& name) {
        const CapturedModule module(name, kTrainingSet);
        return valueOf(engine.gradients(module.callParams(load(module)), {}));
    }
    [[nodiscard]] protocol::MemoryResult memory(const std::string& name, const std::string& train = {}) {
        const CapturedModule module(name, kTrainingSet);
        protocol::MemoryParams params;
        params.call = module.callParams(load(module));
        params.train = train;
        return valueOf(engine.memory(params, {}));
    }
    [[nodiscard]] protocol::ProfileResult profile(const std::string& name, const std::string& train = {}) {
        const CapturedModule module(name, kTrainingSet);
        protocol::ProfileParams params;
        params.call = module.callParams(load(module));
        params.warmupRuns = 1;
        params.repetitions = 3;
        params.backward = true;
        params.train = train;
        return valueOf(engine.profile(params, {}));
    }
    [[nodiscard]] static std::shared_ptr<const profile::Profile> read(const std::string& file) {
        return valueOf(profile::readProfile(base::realFileSystem(), file));
    }

    engine::Engine engine;

private:
    QTemporaryDir m_scratch;
};

}  // namespace modulelens::test
