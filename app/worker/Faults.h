// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

namespace modulelens::worker {

/// Misbehaviour on demand, so that tests of the client meet a real worker that fails: MODULELENS_WORKER_FAULT holds a comma
/// separated list of
///   crash-in:METHOD   abort when METHOD is called         hang-in:METHOD   never answer METHOD, nor its cancellation
///   garbage-after:N   after N answers write bytes that are no message       exit-in:METHOD   end with code 3
///   memory-limit-in:METHOD   let the process grow by no more than 48 MiB while METHOD runs
///   kill-at:STAGE     end by SIGKILL when the progress of a job names STAGE
///   out-of-memory-at:STAGE   from then on no tensor gets memory, until the next method; once
///   hold-at:STAGE     wait there until the job is cancelled; once
///   let-pass:N        the three above take effect the next time after STAGE was named N times; each time that it begins counts
///   witness:FILE      FILE is written when a tensor is refused memory
///   once:FILE         all of these only in the one process that removes FILE
/// Without the variable every function does nothing. Thread-safe.
class Faults {
public:
    [[nodiscard]] static Faults fromEnvironment();

    /// Called when a handler begins.
    void onMethod(std::string_view method);
    /// Called when a job begins a stage. `stop` becomes true when the job is cancelled.
    void onStage(std::string_view stage, const std::stop_token& stop);
    /// Called after each message that was sent; true when garbage must follow.
    [[nodiscard]] bool isGarbageDue();

private:
    [[nodiscard]] bool has(std::string_view kind, std::string_view method) const;
    /// What follows "KIND:" in the list; empty when it is not there.
    [[nodiscard]] std::string valueOf(std::string_view kind) const;
    [[nodiscard]] bool isDueAt(std::string_view kind, std::string_view stage);

    std::string m_list;
    int m_garbageAfter = -1;
    int m_letPass = 0;
    int m_sent = 0;
    bool m_isLimited = false;
    bool m_hasFailedMemory = false;
    bool m_hasHeld = false;
};

}  // namespace modulelens::worker
