// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/TensorNames.h"

#include <QStringList>
#include <nlohmann/json.hpp>

namespace modulelens::explorer {

namespace {

using nlohmann::json;

/// Steps through an encoded value, one reference token of a JSON Pointer at a time.
class NameWalk {
public:
    explicit NameWalk(const json& call) : m_node(&call) {}

    void step(const std::string& token, bool isFirst) {
        const json* next = child(token);
        if (isFirst) {
            m_name = token == "kwargs" ? QString() : QString::fromStdString(token);
        } else {
            extend(token);
        }
        m_inside = m_node->is_object() && m_node->contains("$t") ? m_node : nullptr;
        m_node = next;
    }

    [[nodiscard]] QString name() const { return m_name; }
    [[nodiscard]] bool isLost() const { return m_node == nullptr; }

private:
    [[nodiscard]] const json* child(const std::string& token) const {
        if (m_node->is_object()) {
            const auto found = m_node->find(token);
            return found == m_node->end() ? nullptr : &*found;
        }
        const std::size_t index = std::strtoul(token.c_str(), nullptr, 10);
        return m_node->is_array() && index < m_node->size() ? &(*m_node)[index] : nullptr;
    }

    void extend(const std::string& token) {
        if (m_node->is_object() && m_node->contains("$t")) {
            return; // "v": what follows is inside an encoded value.
        }
        if (m_isPair) {
            m_isPair = false;
            return; // The value of a [key, value] pair: the key was named already.
        }
        if (m_inside != nullptr && m_node->is_array() && child(token) != nullptr) {
            const std::string type = m_inside->value("$t", std::string());
            const json* entry = child(token);
            const bool hasKey = (type == "dict" || type == "mapping") && entry->is_array() && entry->size() == 2;
            if (hasKey) {
                const json& key = (*entry)[0];
                member(key.is_string() ? QString::fromStdString(key.get<std::string>())
                                       : QString::fromStdString(key.dump(-1, ' ', false, json::error_handler_t::replace)));
                m_isPair = true;
                return;
            }
            const auto fields = m_inside->find("fields");
            const std::size_t index = std::strtoul(token.c_str(), nullptr, 10);
            if (type == "namedtuple" && fields != m_inside->end() && fields->is_array() && index < fields->size() &&
                (*fields)[index].is_string()) {
                member(QString::fromStdString((*fields)[index].get<std::string>()));
                return;
            }
        }
        if (m_node->is_array()) {
            m_name += u'[' + QString::fromStdString(token) + u']';
        } else {
            member(QString::fromStdString(token));
        }
    }

    void member(const QString& text) { m_name += (m_name.isEmpty() ? QString() : QStringLiteral(".")) + text; }

    const json* m_node;
    const json* m_inside = nullptr; ///< The encoded value whose "v" is being looked into.
    bool m_isPair = false;
    QString m_name;
};

QString nameOf(const json& call, const QString& pointer) {
    NameWalk walk(call);
    const QStringList tokens = pointer.split(u'/').mid(1);
    for (qsizetype i = 0; i < tokens.size(); ++i) {
        QString token = tokens[i];
        token.replace(QStringLiteral("~1"), QStringLiteral("/")).replace(QStringLiteral("~0"), QStringLiteral("~"));
        if (walk.isLost()) {
            return pointer;
        }
        walk.step(token.toStdString(), i == 0);
    }
    return walk.name().isEmpty() ? pointer : walk.name();
}

} // namespace

QHash<QString, QString> tensorNames(const capture::CallDocument& call) {
    QHash<QString, QString> names;
    if (call.json == nullptr) {
        return names;
    }
    for (const std::vector<capture::LocatedTensor>* tensors : {&call.inputs, &call.outputs}) {
        for (const capture::LocatedTensor& tensor : *tensors) {
            const QString pointer = QString::fromStdString(tensor.pointer);
            names.insert(pointer, nameOf(*call.json, pointer));
        }
    }
    return names;
}

} // namespace modulelens::explorer
