// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backend/operations/Operations.h"
#include "models/LeafTableModel.h"
#include "models/VersionInfo.h"

#include <QWidget>

class QStackedWidget;

namespace modulelens::widgets {
class Banner;
class EmptyState;
class KeyValueList;
class ValueTable;
} // namespace modulelens::widgets

namespace modulelens::explorer {

/// The newest validation of a version: the verdict as a sentence, one row for each output, the worst element. Confined to
/// its thread.
class ValidationPage : public QWidget {
    Q_OBJECT

public:
    explicit ValidationPage(const models::VersionInfo& version, QWidget* parent = nullptr);

    void showReport(std::shared_ptr<const operations::ValidationReport> report);
    /// Readable names of the outputs by JSON Pointer.
    void setNames(const QHash<QString, QString>& names);
    [[nodiscard]] bool hasReport() const { return m_report != nullptr; }
    [[nodiscard]] widgets::Banner* banner() const { return m_banner; }
    [[nodiscard]] models::LeafTableModel& model() { return m_model; }

signals:
    void validateRequested();

private:
    void showLeaf(int row);

    models::VersionInfo m_version;
    std::shared_ptr<const operations::ValidationReport> m_report;
    models::LeafTableModel m_model;
    QStackedWidget* m_pages;
    widgets::EmptyState* m_empty;
    widgets::Banner* m_banner;
    widgets::ValueTable* m_table;
    widgets::KeyValueList* m_side;
};

} // namespace modulelens::explorer
