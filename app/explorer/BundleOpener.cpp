// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/BundleOpener.h"

#include "app/explorer/Session.h"

#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QMimeData>
#include <QUrl>

namespace modulelens::explorer {

BundleOpener::BundleOpener(Session& session, QWidget* window) : QObject(window), m_session(session), m_window(window) {}

void BundleOpener::chooseFolder() {
    const QString path = QFileDialog::getExistingDirectory(m_window, tr("Open a bundle, or a folder of bundles"));
    if (!path.isEmpty()) {
        m_session.importPath(path);
    }
}

void BundleOpener::chooseFile() {
    const QString path = QFileDialog::getOpenFileName(m_window, tr("Open a bundle file"), {}, tr("Bundles (*.mlens)"));
    if (!path.isEmpty()) {
        m_session.importPath(path);
    }
}

void BundleOpener::trySample() {
    const QString sample = QCoreApplication::applicationDirPath() + QStringLiteral("/../share/modulelens/sample");
    if (QFileInfo::exists(sample)) {
        m_session.importPath(sample);
    } else {
        emit failed(tr("No sample was installed with this program. ./dev demo captures three small models and opens them."));
    }
}

void BundleOpener::connectRemote() {
    emit failed(tr("Connecting to a W&B registry is not yet in this version. Bundles can be imported from disk."));
}

bool BundleOpener::canImport(const QMimeData& data) {
    return data.hasUrls();
}

void BundleOpener::import(const QMimeData& data) {
    for (const QUrl& url : data.urls()) {
        if (url.isLocalFile()) {
            m_session.importPath(url.toLocalFile());
        }
    }
}

} // namespace modulelens::explorer
