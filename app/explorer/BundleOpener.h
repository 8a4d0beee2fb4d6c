// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>

class QMimeData;
class QWidget;

namespace modulelens::explorer {

class Session;
struct ConsentRequest;

/// The ways in which captures, models and libraries of operators come in by hand: dialogs, the sample, drag and drop,
/// a remote registry; and the question whether their code may be read. Confined to its thread.
class BundleOpener : public QObject {
    Q_OBJECT

public:
    /// `window` is the parent of the dialogs and of this object.
    BundleOpener(Session& session, QWidget* window);

    void chooseFolder();
    void chooseFile();
    void trySample();
    void connectRemote();
    /// Asks for a library of operators that programs need.
    void chooseLibrary();
    /// What edited source is run with and opened in; kept in the settings.
    void choosePython();
    void chooseEditor();
    [[nodiscard]] static bool canImport(const QMimeData& data);
    void import(const QMimeData& data);

signals:
    void failed(const QString& sentence);

private:
    void askForInputs(const QString& path);
    void askForConsent(const ConsentRequest& request);

    Session& m_session;
    QWidget* m_window;
};

} // namespace modulelens::explorer
