// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/graph/TreeSpec.h"

#include "backend/graph/ModelJson.h"

namespace modulelens::graph {

namespace {

using nlohmann::json;

constexpr std::size_t kMostLeaves = 1'000'000;

/// Builds one value tree. Throws FormatError. Confined to its thread.
class TreeBuilder {
public:
    explicit TreeBuilder(LeafPointers& pointers) : m_pointers(pointers) {}

    json value(const json& spec, const std::string& pointer) {
        const json* type = findMember(spec, "type");
        const json& children = array(member(spec, "children_spec"), "children_spec");
        if (type == nullptr) {
            if (m_pointers.size() >= kMostLeaves) {
                failCorrupt("a value tree has more than a million leaves");
            }
            m_pointers.push_back(pointer);
            return nullptr;
        }
        const std::string& name = text(*type, "the type of a value tree");
        if (name == "builtins.list") {
            return list(children, pointer);
        }
        if (name == "builtins.tuple") {
            return {{"$t", "tuple"}, {"v", list(children, pointer + "/v")}};
        }
        if (name == "builtins.dict" || name == "collections.OrderedDict") {
            return dictionary(spec, children, pointer, name == "collections.OrderedDict");
        }
        return {{"$t", "pytree"}, {"cls", name}, {"context", member(spec, "context")}, {"v", list(children, pointer + "/v")}};
    }

    json list(const json& children, const std::string& pointer) {
        json values = json::array();
        for (const json& child : children) {
            values.push_back(value(child, pointer + '/' + std::to_string(values.size())));
        }
        return values;
    }

    /// A dict whose keys are plain strings, as an object.
    json object(const std::vector<json>& keys, const json& children, const std::string& pointer) {
        json values = json::object();
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const std::string& key = text(keys[i], "the key of a value tree");
            values[key] = value(children[i], pointer + '/' + pointerToken(key));
        }
        return values;
    }

    static std::vector<json> keysOf(const json& spec, std::size_t count) {
        const json* context = findMember(spec, "context");
        std::vector<json> keys;
        if (context != nullptr) {
            const json decoded = parseText(text(*context, "the context of a value tree"), "the context of a value tree");
            for (const json& key : array(decoded, "the keys of a value tree")) {
                keys.push_back(key);
            }
        }
        if (keys.size() != count) {
            failCorrupt("a value tree has another number of keys than of values");
        }
        return keys;
    }

private:
    json dictionary(const json& spec, const json& children, const std::string& pointer, bool isOrdered) {
        const std::vector<json> keys = keysOf(spec, children.size());
        bool isPlain = !isOrdered;
        for (const json& key : keys) {
            isPlain = isPlain && key.is_string() && !key.get_ref<const std::string&>().starts_with('$');
        }
        if (isPlain) {
            return object(keys, children, pointer);
        }
        json items = json::array();
        for (std::size_t i = 0; i < keys.size(); ++i) {
            items.push_back(json::array({keys[i], value(children[i], pointer + "/v/" + std::to_string(i) + "/1")}));
        }
        if (isOrdered) {
            return {{"$t", "mapping"}, {"cls", "collections:OrderedDict"}, {"v", std::move(items)}};
        }
        return {{"$t", "dict"}, {"v", std::move(items)}};
    }

    LeafPointers& m_pointers;
};

/// The tree of a spec "[protocol version, tree]".
json specOf(std::string_view spec) {
    const json document = parseText(spec, "a pytree spec");
    if (!document.is_array() || document.size() != 2) {
        failCorrupt("a pytree spec is no pair of version and tree");
    }
    if (integer(document[0], "the version of a pytree spec") != 1) {
        failUnsupported("a pytree spec has a version other than 1", "Update ModuleLens.");
    }
    return document[1];
}

bool isOfType(const json& spec, const char* name) {
    const json* type = findMember(spec, "type");
    return type != nullptr && *type == name;
}

}  // namespace

base::Result<LeafPointers> readArgumentTree(std::string_view spec, nlohmann::json& call) {
    return readFormat("the structure of the arguments", [&] {
        LeafPointers pointers;
        const json tree = specOf(spec);
        const json& parts = array(member(tree, "children_spec"), "children_spec");
        if (!isOfType(tree, "builtins.tuple") || parts.size() != 2 || !isOfType(parts[0], "builtins.tuple") ||
            !isOfType(parts[1], "builtins.dict")) {
            failCorrupt("it is no pair of arguments and keyword arguments");
        }
        TreeBuilder builder(pointers);
        call["args"] = builder.list(array(member(parts[0], "children_spec"), "children_spec"), "/args");
        const json& named = array(member(parts[1], "children_spec"), "children_spec");
        call["kwargs"] = builder.object(TreeBuilder::keysOf(parts[1], named.size()), named, "/kwargs");
        return pointers;
    });
}

base::Result<LeafPointers> readOutputTree(std::string_view spec, nlohmann::json& output) {
    return readFormat("the structure of the outputs", [&] {
        LeafPointers pointers;
        output = TreeBuilder(pointers).value(specOf(spec), "/output");
        return pointers;
    });
}

std::string pointerToken(std::string_view key) {
    std::string token;
    for (const char c : key) {
        if (c == '~' || c == '/') {
            token += c == '~' ? "~0" : "~1";
        } else {
            token.push_back(c);
        }
    }
    return token;
}

}  // namespace modulelens::graph
