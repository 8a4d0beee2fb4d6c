// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// The reader of a program's JSON against a second one, nlohmann's: both take the same texts and find the same in them.
#include "backend/graph/JsonTree.h"
#include "tests/fuzz/FuzzInput.h"

#include <nlohmann/json.hpp>

using namespace modulelens;
using nlohmann::json;
using Type = graph::JsonNode::Type;

namespace {

constexpr int kDepthLimit = 200;

bool areSame(const graph::JsonNode& ours, const json& theirs);

bool areSameMembers(const graph::JsonNode& ours, const json& theirs) {
    if (!theirs.is_object() || theirs.size() > ours.size() || theirs.empty() != (ours.size() == 0)) {
        return false;
    }
    for (auto member = theirs.begin(); member != theirs.end(); ++member) {
        const graph::JsonNode* found = ours.find(member.key());
        if (found == nullptr || !areSame(*found, member.value())) {
            return false;
        }
    }
    return true;
}

bool areSameElements(const graph::JsonNode& ours, const json& theirs) {
    if (!theirs.is_array() || theirs.size() != ours.size()) {
        return false;
    }
    auto element = theirs.begin();
    for (const graph::JsonNode& node : ours) {
        if (!areSame(node, *element++)) {
            return false;
        }
    }
    return true;
}

bool areSame(const graph::JsonNode& ours, const json& theirs) {
    switch (ours.type()) {
        case Type::Null:
            return theirs.is_null();
        case Type::False:
        case Type::True:
            return theirs.is_boolean() && theirs.get<bool>() == (ours.type() == Type::True);
        case Type::Integer:
        case Type::Float:
            return theirs.is_number();
        case Type::Text:
            return theirs.is_string() && theirs.get<std::string>() == ours.text() && ours.equals(ours.text());
        case Type::Array:
            return areSameElements(ours, theirs);
        case Type::Object:
            return areSameMembers(ours, theirs);
    }
    return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t sizeBytes) {
    const std::string_view text = fuzz::textOf(data, sizeBytes);
    const auto ours = graph::JsonTree::parse(text, kDepthLimit, "fuzz");
    if (!ours) {
        // Theirs skips a byte order mark, takes a NUL byte for the end, and knows no limit of depth.
        const bool isTheirWay = text.starts_with("\xef\xbb\xbf") || text.find('\0') != std::string_view::npos ||
                                ours.error().message.find("nests deeper") != std::string::npos;
        fuzz::require(isTheirWay || !json::accept(text));
        return 0;
    }
    const json theirs = json::parse(text, nullptr, false);
    // Theirs refuses numbers beyond a double, which ours leaves as text.
    fuzz::require(theirs.is_discarded() || areSame(ours->root(), theirs));
    return 0;
}
