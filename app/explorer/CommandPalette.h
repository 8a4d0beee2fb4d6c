// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/Task.h"
#include "models/VersionInfo.h"

#include <QFrame>
#include <QList>

class QAction;
class QLineEdit;
class QListWidget;
class QListWidgetItem;
class QToolButton;

namespace modulelens::explorer {

class Session;

/// Falls out of the go-to field: commands by their words, versions by the registry's query. Up, Down, Enter, Escape.
/// Confined to its thread.
class CommandPalette : public QFrame {
    Q_OBJECT

public:
    /// Property of an action: the number of its widgets::Icon.
    static constexpr const char* kIconProperty = "paletteIcon";
    /// Property of an action: the pattern of commandText() for what the command line does as well.
    static constexpr const char* kCommandProperty = "paletteCommand";

    CommandPalette(Session& session, QWidget* window);

    /// `address` of the version that the commands are about; empty when none is open.
    void open(const QList<QAction*>& commands, const QString& address);
    /// What the command line does as well as the chosen row, or empty.
    [[nodiscard]] QString sameCommand() const;

signals:
    void versionChosen(const modulelens::models::VersionInfo& version);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void filter(const QString& text);
    void showMatches(const QString& text, const QList<models::VersionInfo>& versions);
    void addHead(const QString& title, qsizetype count);
    void arrange();
    void step(int by);
    void copyCommand();
    void activate(const QListWidgetItem* item);
    void finish();

    Session& m_session;
    models::LatestTask m_task;
    QWidget* m_scrim;                      ///< Child of the window, shown while the palette is.
    QLineEdit* m_edit;
    QListWidget* m_list;
    QToolButton* m_copy;
    QString m_address;
    QList<QAction*> m_commands;
    QList<models::VersionInfo> m_versions;
    QWidget* m_focusBefore = nullptr;
};

} // namespace modulelens::explorer
