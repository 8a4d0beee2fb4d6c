// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/BundleOpener.h"

#include "app/explorer/Session.h"

#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QUrl>

namespace modulelens::explorer {

BundleOpener::BundleOpener(Session& session, QWidget* window) : QObject(window), m_session(session), m_window(window) {
    connect(&session, &Session::consentNeeded, this, &BundleOpener::askForConsent);
}

void BundleOpener::chooseFolder() {
    const QString path = QFileDialog::getExistingDirectory(m_window, tr("Open a bundle, or a folder of bundles"));
    if (!path.isEmpty()) {
        m_session.importPath(path);
    }
}

void BundleOpener::chooseFile() {
    const QString path = QFileDialog::getOpenFileName(m_window, tr("Open a bundle or a model"), {},
                                                      tr("Bundles and models (*.mlens *.pt2 *.pt *.jit *.ts);;All files (*)"));
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

void BundleOpener::askForConsent(const QString& path, const QString& sentence) {
    // Not modal: the answer may come when the user has looked at the file.
    auto* question = new QMessageBox(QMessageBox::Question, tr("Consent"), sentence, QMessageBox::NoButton, m_window);
    question->setObjectName(QStringLiteral("consent"));
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setTextFormat(Qt::PlainText);
    question->setInformativeText(
        tr("It is read in the worker process, by LibTorch. Your consent is remembered for this very file alone."));
    QPushButton* read = question->addButton(tr("Read it"), QMessageBox::AcceptRole);
    question->setDefaultButton(question->addButton(QMessageBox::Cancel));
    connect(question, &QMessageBox::buttonClicked, this, [this, path, read](QAbstractButton* clicked) {
        if (clicked == read) {
            m_session.importTrusted(path);
        }
    });
    question->open();
}

} // namespace modulelens::explorer
