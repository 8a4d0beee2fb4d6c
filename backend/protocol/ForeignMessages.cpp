// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/ForeignMessages.h"

#include "backend/protocol/CallFields.h"

namespace modulelens::protocol {

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<InspectParams> message) {
    visit.required("name", message.name);
    visit.required("kind", message.kind);
    visit.required("file", message.file);
    visit.required("offset", message.offset);
    visit.required("length", message.length);
    visit.required("sha256", message.sha256);
    visit.optional("libraries", message.libraries);
    visit.optional("consent", message.consent);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<InspectedModule> message) {
    visit.required("path", message.path);
    visit.required("class", message.className);
    visit.optional("training", message.training);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<InspectedArgument> message) {
    visit.required("name", message.name);
    visit.required("pointer", message.pointer);
    visit.required("type", message.type);
    visit.optional("has_default", message.hasDefault);
    visit.optional("default", message.defaultValue);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<InspectResult> message) {
    visit.optional("file", message.file);
    visit.optional("call", message.call);
    visit.optional("state", message.state);
    visit.optional("output", message.output);
    visit.optional("modules", message.modules);
    visit.optional("arguments", message.arguments);
    visit.optional("warnings", message.warnings);
}

MODULELENS_DEFINE_MESSAGE(InspectParams)
MODULELENS_DEFINE_MESSAGE(InspectResult)

} // namespace modulelens::protocol
