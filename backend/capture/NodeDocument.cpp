// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/capture/NodeDocument.h"

#include "backend/capture/JsonView.h"
#include "backend/capture/TensorReading.h"

namespace modulelens::capture {

namespace {

constexpr std::int64_t kNewestSchema = 1;

using NamedTensors = std::map<std::string, std::optional<TensorReference>>;

NamedTensors readTensors(const JsonView& view, std::vector<TensorReference>& references) {
    NamedTensors tensors;
    view.forEachMember([&](const std::string& name, const JsonView& member) {
        if (member.isNull()) {
            tensors.emplace(name, std::nullopt);
            return;
        }
        TensorReference tensor = readStateTensor(member);
        references.push_back(tensor);
        if (member.find("$t")) {
            collectAllReferences(member, references);
        }
        tensors.emplace(name, std::move(tensor));
    });
    return tensors;
}

NodeDocument readNode(std::string_view text, const std::string& digest, const std::string& document) {
    const nlohmann::json json = parseJson(text, document);
    const JsonView view(json, document);
    checkSchema(view, "modulelens.node", kNewestSchema);
    NodeDocument node;
    node.digest = digest;
    node.className = view.at("class").string();
    node.runtimeClass = view.stringOr("runtime_class", "");
    node.training = view.at("training").boolean();
    const JsonView init = view.at("init");
    node.initHow = init.at("how").string();
    node.init = std::make_shared<const nlohmann::json>(init.json());
    const JsonView attributes = view.at("attributes");
    node.attributes = std::make_shared<const nlohmann::json>(attributes.json());
    collectAllReferences(init, node.references);
    collectAllReferences(attributes, node.references);
    node.parameters = readTensors(view.at("parameters"), node.references);
    node.buffers = readTensors(view.at("buffers"), node.references);
    node.nonPersistent = view.at("non_persistent").strings();
    view.at("children").forEachMember([&](const std::string& name, const JsonView& child) {
        node.children.emplace(name, child.isNull() ? std::string() : child.digest());
    });
    if (const auto source = view.find("source")) {
        node.source = source->digest();
    }
    std::erase_if(node.references, [](const TensorReference& tensor) { return tensor.digest.empty(); });
    return node;
}

}  // namespace

base::Result<NodeDocument> parseNodeDocument(std::string_view text, const std::string& digest) {
    const std::string document = "nodes/" + digest + ".json";
    return readDocument(document, [&] { return readNode(text, digest, document); });
}

}  // namespace modulelens::capture
