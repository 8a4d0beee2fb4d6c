// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/SourceEdit.h"
#include "models/VersionInfo.h"
#include "widgets/KeyValueList.h"

#include <QWidget>

class QPushButton;

namespace modulelens::operations {
struct GuardedFile;
}
namespace modulelens::widgets {
class Banner;
}

namespace modulelens::explorer {

class Session;

/// The edit of a version's source: opens the working copy in the user's editor, verifies it at every save, and says in a banner
/// what came of it. Hidden while nothing is edited. Confined to its thread.
class SourceEditPanel : public QWidget {
    Q_OBJECT

public:
    SourceEditPanel(Session& session, const models::VersionInfo& version, QWidget* parent = nullptr);
    ~SourceEditPanel() override;

    [[nodiscard]] const models::SourceEdit& edit() const { return m_edit; }
    [[nodiscard]] widgets::Banner* banner() const { return m_banner; }
    [[nodiscard]] int job() const { return m_job; }
    /// What came of it, for the list beside the source; empty before the first answer.
    [[nodiscard]] QList<widgets::KeyValueList::Group> facts() const;

    /// Opens the working copy, or the editor once more.
    void begin();
    /// The edited file is kept beside, and the captured source is edited anew.
    void startOver();

signals:
    void changed();

private:
    void openFile(bool startsOver);
    void openEditor();
    void verify(int run);
    void askForConsent(const operations::GuardedFile& file);
    void choosePython();
    void showState();
    void showAnswer();

    Session& m_session;
    models::VersionInfo m_version;
    models::SourceEdit m_edit;
    models::SaveWatch m_watch;
    widgets::Banner* m_banner;
    QPushButton* m_openEditor;
    QPushButton* m_run;
    QPushButton* m_python;
    QPushButton* m_startOver;
    QPushButton* m_stop;
    QString m_className;
    QString m_editorFault;
    int m_job = 0;
};

} // namespace modulelens::explorer
