// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/SourceMessages.h"

#include "backend/protocol/MessageFields.h"

namespace modulelens::protocol {

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<EditedSource> message) {
    visit.required("file", message.file);
    visit.required("sha256", message.sha256);
    visit.optional("class", message.className);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<ModuleSource> message) {
    visit.required("root", message.root);
    visit.optional("module", message.module);
    visit.required("nodes", message.nodes);
    visit.optional("values", message.values);
    visit.optional("sources", message.sources);
    visit.optional("captured_device", message.capturedDevice);
    visit.optional("rungs", message.rungs);
    visit.optional("edited", message.edited);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<CodeParams> message) {
    visit.required("source", message.source);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<CodeResult> message) {
    visit.optional("sha256", message.sha256);
    visit.required("names", message.names);
    visit.required("packages", message.packages);
    visit.optional("sentence", message.sentence);
}

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<SourceDifference> message) {
    visit.required("class", message.className);
    visit.optional("difference", message.difference);
}

namespace {

/// What the result of load has beyond the program engine's.
struct SourceLoadFacts {
    std::string how;
    std::vector<std::string> reasons;
    std::vector<SourceDifference> differences;
};

template <class Visitor>
void fields(Visitor& visit, typename Visitor::template Reference<SourceLoadFacts> message) {
    visit.required("how", message.how);
    visit.optional("reasons", message.reasons);
    visit.optional("differences", message.differences);
}

} // namespace

MODULELENS_DEFINE_MESSAGE(CodeParams)
MODULELENS_DEFINE_MESSAGE(CodeResult)

nlohmann::json toJson(const SourceLoadParams& message) {
    nlohmann::json json = toJson(message.load);
    if (message.load.program.file.empty()) {
        json.erase("program");
    }
    json.update(toJson(CodeParams{message.source}));
    return json;
}

nlohmann::json toJson(const SourceLoadResult& message) {
    nlohmann::json json = toJson(message.load);
    json.update(writeMessage(SourceLoadFacts{message.how, message.reasons, message.differences}));
    return json;
}

base::Result<SourceLoadResult> parseSourceLoadResult(const nlohmann::json& json) {
    base::Result<LoadResult> load = parseLoadResult(json);
    if (!load) {
        return load.error();
    }
    base::Result<SourceLoadFacts> facts = readMessage<SourceLoadFacts>(json, "SourceLoadResult");
    if (!facts) {
        return facts.error();
    }
    return SourceLoadResult{*std::move(load), std::move(facts->how), std::move(facts->reasons), std::move(facts->differences)};
}

} // namespace modulelens::protocol
