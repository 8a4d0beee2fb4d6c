// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/RegistryTreeModel.h"

#include "backend/registry/Registry.h"
#include "models/Format.h"
#include "models/QueryText.h"
#include "models/Task.h"

#include <algorithm>

namespace modulelens::models {

namespace {

constexpr int kVersionsPerPage = 100;
constexpr int kVersionsShown = 8;

} // namespace

struct RegistryTreeModel::Node {
    RowKind kind = RowKind::Model;
    Node* parent = nullptr;
    QString name;
    QString key;
    std::int64_t count = 0;
    VersionInfo version;
    std::vector<VersionInfo> waiting;   ///< Of a "more" row: read already, not shown yet.
    QString cursor;                     ///< Of a "more" row: where reading goes on after `waiting`.
    bool requested = false;
    std::vector<std::unique_ptr<Node>> children;

    [[nodiscard]] int row() const {
        const auto& siblings = parent->children;
        const auto same = [this](const std::unique_ptr<Node>& node) { return node.get() == this; };
        return static_cast<int>(std::find_if(siblings.begin(), siblings.end(), same) - siblings.begin());
    }
};

RegistryTreeModel::RegistryTreeModel(TaskPool& pool, QObject* parent)
    : QAbstractItemModel(parent), m_pool(pool), m_root(std::make_unique<Node>()) {}

RegistryTreeModel::~RegistryTreeModel() = default;

void RegistryTreeModel::setRegistry(std::shared_ptr<registry::Registry> registry) {
    m_registry = std::move(registry);
    setResult({}, {});
}

void RegistryTreeModel::setResult(const QString& query, const QList<ModelRow>& models) {
    beginResetModel();
    ++m_generation;
    m_query = query;
    m_root = std::make_unique<Node>();
    for (const ModelRow& row : models) {
        auto node = std::make_unique<Node>();
        node->kind = RowKind::Model;
        node->parent = m_root.get();
        node->name = row.name;
        node->key = QStringLiteral("model/") + row.name;
        node->count = row.versionCount;
        m_root->children.push_back(std::move(node));
    }
    endResetModel();
}

void RegistryTreeModel::updateVersion(const VersionInfo& version) {
    Node* node = findNode(m_root.get(), QStringLiteral("version/") + version.id);
    if (node != nullptr) {
        node->version = version;
        const QModelIndex changed = indexOf(node);
        emit dataChanged(changed, changed);
    }
}

QModelIndex RegistryTreeModel::find(const QString& key) const {
    const Node* node = findNode(m_root.get(), key);
    return node == nullptr ? QModelIndex() : indexOf(node);
}

RegistryTreeModel::Node* RegistryTreeModel::findNode(Node* from, const QString& key) const {
    for (const std::unique_ptr<Node>& child : from->children) {
        if (child->key == key) {
            return child.get();
        }
        if (Node* found = findNode(child.get(), key)) {
            return found;
        }
    }
    return nullptr;
}

RegistryTreeModel::Node* RegistryTreeModel::nodeOf(const QModelIndex& index) const {
    return index.isValid() ? static_cast<Node*>(index.internalPointer()) : m_root.get();
}

QModelIndex RegistryTreeModel::indexOf(const Node* node) const {
    return node == m_root.get() ? QModelIndex() : createIndex(node->row(), 0, node);
}

QModelIndex RegistryTreeModel::index(int row, int column, const QModelIndex& parent) const {
    const Node* node = nodeOf(parent);
    if (column != 0 || row < 0 || row >= static_cast<int>(node->children.size())) {
        return {};
    }
    return createIndex(row, column, node->children[static_cast<std::size_t>(row)].get());
}

QModelIndex RegistryTreeModel::parent(const QModelIndex& child) const {
    return child.isValid() ? indexOf(nodeOf(child)->parent) : QModelIndex();
}

int RegistryTreeModel::rowCount(const QModelIndex& parent) const {
    return parent.column() > 0 ? 0 : static_cast<int>(nodeOf(parent)->children.size());
}

int RegistryTreeModel::columnCount(const QModelIndex&) const {
    return 1;
}

bool RegistryTreeModel::hasChildren(const QModelIndex& parent) const {
    const Node* node = nodeOf(parent);
    if (!parent.isValid()) {
        return !node->children.empty();
    }
    return node->kind == RowKind::Model || node->kind == RowKind::Module;
}

bool RegistryTreeModel::canFetchMore(const QModelIndex& parent) const {
    return parent.isValid() && hasChildren(parent) && !nodeOf(parent)->requested && m_registry != nullptr;
}

void RegistryTreeModel::fetchMore(const QModelIndex& parent) {
    if (!canFetchMore(parent)) {
        return;
    }
    Node* node = nodeOf(parent);
    node->requested = true;
    if (node->kind == RowKind::Model) {
        fetchModules(node);
    } else {
        fetchVersions(node, {});
    }
}

void RegistryTreeModel::replaceChildren(Node* parent, int from, std::vector<std::unique_ptr<Node>> children) {
    const QModelIndex parentIndex = indexOf(parent);
    const int had = static_cast<int>(parent->children.size());
    if (from < had) {
        beginRemoveRows(parentIndex, from, had - 1);
        parent->children.resize(static_cast<std::size_t>(from));
        endRemoveRows();
    }
    if (!children.empty()) {
        beginInsertRows(parentIndex, from, from + static_cast<int>(children.size()) - 1);
        for (std::unique_ptr<Node>& child : children) {
            child->parent = parent;
            parent->children.push_back(std::move(child));
        }
        endInsertRows();
    }
    emit childrenLoaded(parentIndex);
}

namespace {

template <class NodeType>
std::unique_ptr<NodeType> messageNode(const base::Error& error) {
    auto node = std::make_unique<NodeType>();
    node->kind = RegistryTreeModel::RowKind::Message;
    node->name = QString::fromStdString(error.text());
    return node;
}

} // namespace

void RegistryTreeModel::fetchModules(Node* model) {
    const int generation = m_generation;
    m_pool.run(
        this,
        [registry = m_registry, name = model->name.toStdString(), query = m_query.toStdString()] {
            return registry->modules(name, query);
        },
        [this, generation, model](const base::Result<std::vector<registry::GroupSummary>>& outcome) {
            if (generation != m_generation) {
                return;
            }
            std::vector<std::unique_ptr<Node>> children;
            if (!outcome) {
                children.push_back(messageNode<Node>(outcome.error()));
            } else {
                for (const registry::GroupSummary& group : *outcome) {
                    auto node = std::make_unique<Node>();
                    node->kind = RowKind::Module;
                    node->name = QString::fromStdString(group.name);
                    node->key = QStringLiteral("module/") + model->name + u'/' + node->name;
                    node->count = group.versionCount;
                    node->version.className = bareClassName(group.className);
                    children.push_back(std::move(node));
                }
            }
            replaceChildren(model, 0, std::move(children));
        });
}

void RegistryTreeModel::fetchVersions(Node* module, const QString& cursor) {
    registry::SearchRequest request;
    const QString words = m_query + u' ' + queryTerm(QStringLiteral("model"), module->parent->name) + u' ' +
                          queryTerm(QStringLiteral("module"), module->name);
    request.query = words.trimmed().toStdString();
    request.limit = kVersionsPerPage;
    request.cursor = cursor.toStdString();
    const int generation = m_generation;
    const int from = static_cast<int>(module->children.size());
    m_pool.run(
        this,
        [registry = m_registry, request, model = module->parent->name.toStdString(),
         name = module->name.toStdString()]() -> base::Result<registry::SearchPage> {
            // The query matches parts of names; only this module's versions are wanted.
            registry::SearchRequest next = request;
            registry::SearchPage wanted;
            do {
                base::Result<registry::SearchPage> page = registry->search(next);
                if (!page) {
                    return page;
                }
                for (registry::VersionSummary& version : page->versions) {
                    if (version.model == model && version.module == name) {
                        wanted.versions.push_back(std::move(version));
                    }
                }
                next.cursor = page->nextCursor;
            } while (!next.cursor.empty() && wanted.versions.size() < kVersionsShown);
            wanted.nextCursor = next.cursor;
            return wanted;
        },
        [this, generation, module, from](const base::Result<registry::SearchPage>& outcome) {
            if (generation != m_generation) {
                return;
            }
            std::vector<std::unique_ptr<Node>> children;
            if (!outcome) {
                children.push_back(messageNode<Node>(outcome.error()));
                replaceChildren(module, from, std::move(children));
                return;
            }
            auto more = std::make_unique<Node>();
            more->kind = RowKind::More;
            more->cursor = QString::fromStdString(outcome->nextCursor);
            for (const registry::VersionSummary& summary : outcome->versions) {
                VersionInfo info = versionInfoOf(summary);
                if (children.size() >= kVersionsShown) {
                    more->waiting.push_back(std::move(info));
                    continue;
                }
                auto node = std::make_unique<Node>();
                node->kind = RowKind::Version;
                node->name = QStringLiteral("v") + QString::number(info.number);
                node->key = QStringLiteral("version/") + info.id;
                node->version = std::move(info);
                children.push_back(std::move(node));
            }
            if (!more->waiting.empty() || !more->cursor.isEmpty()) {
                children.push_back(std::move(more));
            }
            replaceChildren(module, from, std::move(children));
        });
}

void RegistryTreeModel::loadMore(const QModelIndex& moreRow) {
    Node* more = nodeOf(moreRow);
    if (!moreRow.isValid() || more->kind != RowKind::More) {
        return;
    }
    Node* module = more->parent;
    const QString cursor = more->cursor;
    std::vector<std::unique_ptr<Node>> children;
    for (VersionInfo& info : more->waiting) {
        auto node = std::make_unique<Node>();
        node->kind = RowKind::Version;
        node->name = QStringLiteral("v") + QString::number(info.number);
        node->key = QStringLiteral("version/") + info.id;
        node->version = std::move(info);
        children.push_back(std::move(node));
    }
    replaceChildren(module, more->row(), std::move(children));
    if (!cursor.isEmpty()) {
        fetchVersions(module, cursor);
    }
}

QVariant RegistryTreeModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) {
        return {};
    }
    const Node* node = nodeOf(index);
    switch (role) {
        case Qt::DisplayRole:
            if (node->kind == RowKind::Module && node->name.isEmpty()) {
                return QStringLiteral("(whole model)");
            }
            if (node->kind == RowKind::More) {
                return node->cursor.isEmpty() ? formatCount(static_cast<std::int64_t>(node->waiting.size())) +
                                                    (node->waiting.size() == 1 ? QStringLiteral(" older version")
                                                                               : QStringLiteral(" older versions"))
                                              : QStringLiteral("Older versions");
            }
            return node->name;
        case Qt::AccessibleTextRole:
            if (node->kind == RowKind::Version) {
                return QString(node->version.address() + QStringLiteral(", ") +
                               verdictWords(node->version.verdict, node->version.exact).words);
            }
            return data(index, Qt::DisplayRole);
        case Qt::ToolTipRole:
            if (node->kind == RowKind::Version) {
                return node->version.address();
            }
            return node->kind == RowKind::Module || node->kind == RowKind::Message ? data(index, Qt::DisplayRole) : QVariant();
        case KindRole:
            return static_cast<int>(node->kind);
        case CountRole:
            return QVariant::fromValue(static_cast<qint64>(node->count));
        case VersionRole:
            return QVariant::fromValue(node->version);
        case KeyRole:
            return node->key;
        default:
            return {};
    }
}

Qt::ItemFlags RegistryTreeModel::flags(const QModelIndex& index) const {
    if (!index.isValid()) {
        return Qt::NoItemFlags;
    }
    const Node* node = nodeOf(index);
    Qt::ItemFlags flags = Qt::ItemIsEnabled | Qt::ItemIsSelectable;
    if (node->kind != RowKind::Model && node->kind != RowKind::Module) {
        flags |= Qt::ItemNeverHasChildren;
    }
    return flags;
}

} // namespace modulelens::models
