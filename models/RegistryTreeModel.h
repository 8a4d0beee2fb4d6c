// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "models/VersionInfo.h"

#include <QAbstractItemModel>

#include <memory>

namespace modulelens::registry {
class Registry;
}

namespace modulelens::models {

class TaskPool;

/// The versions that a query finds as a tree: model, module, version. Children are read from the registry when a row is
/// opened first; what is shown stays until what replaces it has arrived. Confined to its thread (the GUI thread).
class RegistryTreeModel : public QAbstractItemModel {
    Q_OBJECT

public:
    enum class RowKind { Model, Module, Version, More, Message };
    enum Role {
        KindRole = Qt::UserRole,   ///< RowKind as int.
        CountRole,                 ///< Versions under a model or module.
        VersionRole,               ///< VersionInfo of a version row.
        KeyRole,                   ///< Text that names the row across resets.
    };

    explicit RegistryTreeModel(TaskPool& pool, QObject* parent = nullptr);
    ~RegistryTreeModel() override;

    /// Null empties the model.
    void setRegistry(std::shared_ptr<registry::Registry> registry);
    /// Shows the models given (already found by `query`); opened rows read with the same query. The rows of `models` are
    /// name and number of versions. Signals modelReset.
    struct ModelRow {
        QString name;
        std::int64_t versionCount = 0;
    };
    void setResult(const QString& query, const QList<ModelRow>& models);
    /// Replaces what is shown of a version that changed (tags, aliases, verdict), wherever it stands.
    void updateVersion(const VersionInfo& version);
    /// Index of the row with that key, as far as it is loaded.
    [[nodiscard]] QModelIndex find(const QString& key) const;
    /// Reads the next versions in place of a "more" row.
    void loadMore(const QModelIndex& moreRow);

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& child) const override;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] bool hasChildren(const QModelIndex& parent = {}) const override;
    [[nodiscard]] bool canFetchMore(const QModelIndex& parent) const override;
    void fetchMore(const QModelIndex& parent) override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

signals:
    /// The children of `parent` have arrived.
    void childrenLoaded(const QModelIndex& parent);

private:
    struct Node;
    [[nodiscard]] Node* nodeOf(const QModelIndex& index) const;
    [[nodiscard]] QModelIndex indexOf(const Node* node) const;
    [[nodiscard]] Node* findNode(Node* from, const QString& key) const;
    void fetchModules(Node* model);
    void fetchVersions(Node* module, const QString& cursor);
    void replaceChildren(Node* parent, int from, std::vector<std::unique_ptr<Node>> children);

    TaskPool& m_pool;
    std::shared_ptr<registry::Registry> m_registry;
    QString m_query;
    std::unique_ptr<Node> m_root;
    int m_generation = 0;
};

} // namespace modulelens::models
