// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/BundleOpener.h"

#include "app/explorer/Session.h"

#include <QCheckBox>
#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QUrl>

namespace modulelens::explorer {

BundleOpener::BundleOpener(Session& session, QWidget* window) : QObject(window), m_session(session), m_window(window) {
    connect(&session, &Session::consentNeeded, this, &BundleOpener::askForConsent);
    connect(&session, &Session::inputsNeeded, this, &BundleOpener::askForInputs);
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

void BundleOpener::chooseLibrary() {
    const QString path = QFileDialog::getOpenFileName(m_window, tr("Load a library of operators"), {},
                                                      tr("Shared libraries (*.so *.dylib *.dll);;All files (*)"));
    if (!path.isEmpty()) {
        m_session.addLibrary(path);
    }
}

void BundleOpener::choosePython() {
    const QString path = QFileDialog::getOpenFileName(m_window, tr("Choose the Python interpreter"), m_session.python());
    if (!path.isEmpty()) {
        m_session.setPython(path);
    }
}

void BundleOpener::chooseEditor() {
    auto* question = new QInputDialog(m_window);
    question->setObjectName(QStringLiteral("editor"));
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setWindowTitle(tr("Editor"));
    question->setLabelText(
        tr("Command that opens source in your editor; {file} stands for the file. Empty: VISUAL, EDITOR or what "
           "the desktop has."));
    question->setTextValue(m_session.editor());
    connect(question, &QInputDialog::textValueSelected, &m_session,
            [this](const QString& command) { m_session.setEditor(command.trimmed()); });
    question->open();
}

void BundleOpener::askForInputs(const QString& path) {
    auto* question = new QInputDialog(m_window);
    question->setObjectName(QStringLiteral("inputs"));
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setWindowTitle(tr("Inputs"));
    question->setOption(QInputDialog::UsePlainTextEditForTextInput);
    question->setLabelText(tr("%1 is in the registry, but holds no inputs, so it cannot run.\n\nOne line for each argument, in "
                              "order, or NAME=VALUE: float32[1,512] for random numbers, int64[2,8]:0..999 for integers of a "
                              "range, 16000, 0.5, true, none, 'text', @FILE.safetensors:KEY.")
                               .arg(QFileInfo(path).fileName()));
    question->setOkButtonText(tr("Import with these inputs"));
    question->setCancelButtonText(tr("Leave it without"));
    connect(question, &QInputDialog::textValueSelected, this, [this, path](const QString& text) {
        QStringList inputs;
        for (const QString& line : text.split(u'\n')) {
            if (!line.trimmed().isEmpty()) {
                inputs.append(line.trimmed());
            }
        }
        if (!inputs.isEmpty()) {
            m_session.importPath(path, inputs);
        }
    });
    question->open();
}

void BundleOpener::askForConsent(const ConsentRequest& request) {
    const bool isNative =
        request.file.kind == "operator_library" || request.file.kind == protocol::program_format::kAotInductor;
    // Not modal: the answer may come when the user has looked at the file.
    auto* question = new QMessageBox(QMessageBox::Question, tr("Consent"), request.sentence, QMessageBox::NoButton, m_window);
    question->setObjectName(QStringLiteral("consent"));
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setTextFormat(Qt::PlainText);
    const bool isSource = request.file.kind == "source";
    const QString what =
        isSource   ? tr("It is Python code, which can do whatever you can. It is run in a process of its own.\n\n") +
                         QString::fromStdString(request.file.name)
        : isNative ? tr("It is machine code, which can do whatever you can. It is loaded in the worker process.")
                   : tr("It is read in the worker process, by LibTorch.");
    question->setInformativeText(what + QStringLiteral("\n\nsha256 ") + QString::fromStdString(request.file.sha256) +
                                 QStringLiteral("\n\n") +
                                 tr("Your consent is remembered for this very file alone; modulelens consent forget takes it "
                                    "back."));
    QPushButton* read = question->addButton(isSource   ? tr("Run it")
                                            : isNative ? tr("Load and run it")
                                                       : tr("Read it"),
                                            QMessageBox::AcceptRole);
    QCheckBox* later = nullptr;
    if (!request.laterText.isEmpty()) {
        later = new QCheckBox(request.laterText, question);
        question->setCheckBox(later);
    }
    question->setDefaultButton(question->addButton(QMessageBox::Cancel));
    // Escape and closing the window end it as well.
    connect(question, &QMessageBox::finished, this, [this, request, question, read, later] {
        if (question->clickedButton() == read) {
            if (later != nullptr && later->isChecked() && request.forLater) {
                request.forLater();
            }
            m_session.allow(request);
        } else {
            m_session.decline(request);
        }
    });
    question->open();
}

} // namespace modulelens::explorer
