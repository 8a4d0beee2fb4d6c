// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/SourceInput.h"

#include "backend/base/Digest.h"
#include "backend/base/FileSystem.h"

#include <QByteArray>
#include <QtGlobal>

#include <set>

namespace modulelens::operations {

namespace {

using nlohmann::json;

/// Calls `visit` for every object in a value, outermost first.
template <class Visit>
void forEachObject(const json& value, Visit&& visit) {
    if (value.is_object()) {
        visit(value);
    }
    if (value.is_structured()) {
        for (const json& item : value) {
            forEachObject(item, visit);
        }
    }
}

std::string textAt(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The documents of a node and of all that it names, with the sources of their classes.
class NodeReader {
public:
    NodeReader(registry::Registry& registry, protocol::ModuleSource& source) : m_registry(registry), m_source(source) {}

    base::Result<void> read(const std::string& root) {
        m_source.nodes = json::object();
        std::vector<std::string> open{root};
        while (!open.empty()) {
            const std::string digest = open.back();
            open.pop_back();
            if (m_source.nodes.contains(digest)) {
                continue;
            }
            const base::Result<std::string> text = m_registry.nodeText(digest);
            if (!text) {
                return text.error();
            }
            json node = json::parse(*text, nullptr, false);
            if (!node.is_object()) {
                return base::Error{base::ErrorCode::Corrupt, "the node " + digest.substr(0, 12) + " is no JSON object", {}};
            }
            collect(node, open);
            if (base::Result<void> added = addSource(textAt(node, "source")); !added) {
                return added;
            }
            m_source.nodes[digest] = std::move(node);
        }
        return {};
    }

    [[nodiscard]] const std::set<std::string>& tensors() const { return m_tensors; }

private:
    void collect(const json& node, std::vector<std::string>& open) {
        if (const auto children = node.find("children"); children != node.end() && children->is_object()) {
            for (const json& child : *children) {
                if (child.is_string()) {
                    open.push_back(child.get<std::string>());
                }
            }
        }
        forEachObject(node, [&](const json& object) {
            if (textAt(object, "$t") == "module" && !textAt(object, "node").empty()) {
                open.push_back(textAt(object, "node"));
            }
            if (!textAt(object, "ref").empty()) {
                m_tensors.insert(textAt(object, "ref"));
            }
        });
    }

    base::Result<void> addSource(const std::string& digest) {
        if (digest.empty() || m_source.sources.count(digest) != 0) {
            return {};
        }
        base::Result<std::string> text = m_registry.source(digest);
        if (!text) {
            return text.error();
        }
        m_source.sources.emplace(digest, *std::move(text));
        return {};
    }

    registry::Registry& m_registry;
    protocol::ModuleSource& m_source;
    std::set<std::string> m_tensors;
};

std::string interpreter(const std::string& python) {
    if (!python.empty()) {
        return python;
    }
    if (const QByteArray named = qgetenv("MODULELENS_PYTHON"); !named.isEmpty()) {
        return named.toStdString();
    }
    for (const char* environment : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
        if (const QByteArray folder = qgetenv(environment); !folder.isEmpty()) {
            return folder.toStdString() + "/bin/python";
        }
    }
    return "python3";
}

} // namespace

base::Result<protocol::SourceLoadParams> sourceLoadParams(registry::Registry& registry, const VersionInput& input,
                                                          const std::string& device) {
    protocol::SourceLoadParams params;
    params.load.name = input.address();
    params.load.state = *input.document.stateJson;
    params.load.device = device;
    protocol::ModuleSource& source = params.source;
    source.root = input.document.stateDigest;
    source.module = input.summary.module;
    source.edited = input.edited;
    if (input.needsCode) {
        source.rungs = {"structure", "init"};
    }
    source.capturedDevice = textAt(*input.document.environment, "device");
    for (const capture::CallDocument& call : input.document.calls) {
        source.values.push_back(*call.json);
    }
    NodeReader nodes(registry, source);
    if (const base::Result<void> read = nodes.read(source.root); !read) {
        return read.error();
    }
    std::set<std::string> digests = nodes.tensors();
    forEachObject(params.load.state, [&](const json& object) {
        if (!textAt(object, "ref").empty()) {
            digests.insert(textAt(object, "ref"));
        }
    });
    base::Result<std::vector<protocol::Extent>> tensors = tensorExtents(registry, digests);
    if (!tensors) {
        return tensors.error();
    }
    params.load.tensors = *std::move(tensors);
    if (!input.program.empty() && programFormat(input.programHow).isExported) {
        const base::Result<registry::FileExtent> program = registry.program(input.program);
        if (!program) {
            return program.error();
        }
        params.load.program = {input.program, program->file.string(), program->offset, program->sizeBytes};
    }
    return params;
}

base::Result<protocol::EditedSource> readEditedSource(const std::filesystem::path& file, const std::string& className) {
    std::error_code failed;
    const std::filesystem::path absolute = std::filesystem::absolute(file, failed);
    const auto mapped = base::realFileSystem().map(failed ? file : absolute);
    if (!mapped) {
        return mapped.error().within("the edited source");
    }
    return protocol::EditedSource{absolute.string(), base::sha256Hex((*mapped)->bytes()), className};
}

std::vector<std::string> pythonWorkerCommand(const std::string& python, const std::vector<std::string>& pythonPath) {
    std::vector<std::string> words{interpreter(python), "-m", "modulelens", "worker"};
    for (const std::string& folder : pythonPath) {
        words.insert(words.end(), {"--python-path", std::filesystem::absolute(folder).string()});
    }
    return words;
}

} // namespace modulelens::operations
