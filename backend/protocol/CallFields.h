// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/protocol/MessageFields.h"
#include "backend/protocol/WorkerMessages.h"

/// Wire names of the messages that stand inside others. For the .cpp files of messages only.
namespace modulelens::protocol {

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<Extent> message) {
    visit.required("digest", message.digest);
    visit.required("file", message.file);
    visit.required("offset", message.offset);
    visit.required("length", message.length);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<OperatorLibrary> message) {
    visit.required("file", message.file);
    visit.required("sha256", message.sha256);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<CallParams> message) {
    visit.required("handle", message.handle);
    visit.required("call", message.call);
    visit.required("tensors", message.tensors);
    visit.optional("threads", message.threads);
    visit.optional("timeout_ms", message.timeoutMs);
}

}  // namespace modulelens::protocol
