// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/ForeignMessages.h"

#include "backend/base/Guarded.h"
#include "backend/protocol/MessageFields.h"

namespace modulelens::protocol {

template <class Visitor>
static void fields(Visitor& visit, typename Visitor::template Reference<OperatorLibrary> message) {
    visit.required("file", message.file);
    visit.required("sha256", message.sha256);
}

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

namespace {

template <class Message>
nlohmann::json write(const Message& message) {
    FieldWriter writer;
    fields(writer, message);
    return writer.take();
}

template <class Message>
base::Result<Message> read(const nlohmann::json& json, const char* name) {
    return base::guarded(name, [&]() -> base::Result<Message> {
        Message message{};
        FieldReader reader(json, name);
        fields(reader, message);
        if (reader.error()) {
            return *reader.error();
        }
        return message;
    });
}

} // namespace

#define MODULELENS_MESSAGE(Type)                                 \
    nlohmann::json toJson(const Type& message) {                 \
        return write(message);                                   \
    }                                                            \
    base::Result<Type> parse##Type(const nlohmann::json& json) { \
        return read<Type>(json, #Type);                          \
    }

MODULELENS_MESSAGE(InspectParams)
MODULELENS_MESSAGE(InspectResult)
#undef MODULELENS_MESSAGE

} // namespace modulelens::protocol
