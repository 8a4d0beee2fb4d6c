// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/SourceEditPanel.h"

#include "app/explorer/EditorCommand.h"
#include "app/explorer/Session.h"
#include "backend/operations/Verifying.h"
#include "backend/operations/WorkingCopy.h"
#include "models/Format.h"
#include "widgets/Banner.h"

#include <QDesktopServices>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QProcess>
#include <QPushButton>
#include <QUrl>
#include <QVBoxLayout>

namespace modulelens::explorer {

namespace {

using State = models::SourceEdit::State;
using widgets::Banner;
using widgets::KeyValueList;

QString withTilde(const QString& path) {
    const QString home = QDir::homePath();
    return path.startsWith(home + u'/') ? u'~' + path.mid(home.size()) : path;
}

QString titleOf(const base::Error& error) {
    switch (error.code) {
        case base::ErrorCode::InvalidArgument:
            return SourceEditPanel::tr("The edit does not run");
        case base::ErrorCode::Unsupported:
            return SourceEditPanel::tr("The edit raised an error");
        case base::ErrorCode::EnvironmentMissing:
        case base::ErrorCode::NotFound:
            return SourceEditPanel::tr("Something that the edit needs is missing");
        default:
            return SourceEditPanel::tr("The edit could not be verified");
    }
}

Banner::Kind kindOf(const operations::VerifyReport& report) {
    if (report.validation.verdict != "pass") {
        return report.validation.verdict == "fail" ? Banner::Kind::Bad : Banner::Kind::Warning;
    }
    const bool isSlower = report.benchmark && report.benchmark->verdict == profile::Verdict::Slower;
    return isSlower ? Banner::Kind::Warning : Banner::Kind::Good;
}

KeyValueList::Group comparedWithOutputs(const operations::ValidationReport& report) {
    KeyValueList::Group group{SourceEditPanel::tr("Against the captured outputs"), {}};
    const bool failed = report.verdict == "fail";
    group.rows.append({SourceEditPanel::tr("Verdict"),
                       models::verdictWords(QString::fromStdString(report.verdict), report.exact).words, failed, false});
    group.rows.append({SourceEditPanel::tr("Max abs"),
                       report.exact        ? SourceEditPanel::tr("0, bits equal")
                       : report.maxAbsDiff ? models::formatReal(*report.maxAbsDiff)
                                           : models::notApplicable(),
                       failed, false});
    group.rows.append(
        {SourceEditPanel::tr("Outputs"), models::formatCount(static_cast<std::int64_t>(report.leaves.size())), false, false});
    if (!report.reason.empty()) {
        group.rows.append({SourceEditPanel::tr("Reason"), QString::fromStdString(report.reason), failed, false});
    }
    group.rows.append({SourceEditPanel::tr("Rebuilt by"), QString::fromStdString(report.how), false, false});
    return group;
}

QString medianText(const operations::BenchmarkSideReport& side) {
    return side.host ? models::formatNanoseconds(side.host->medianNs) : models::notApplicable();
}

KeyValueList::Group comparedInTime(const operations::VerifyReport& report) {
    KeyValueList::Group group{SourceEditPanel::tr("Against the code without the edit"), {}};
    if (!report.benchmark || report.benchmark->sides.size() != 2) {
        group.rows.append({SourceEditPanel::tr("Not timed"), QString::fromStdString(report.benchmarkReason), false, false});
        return group;
    }
    const operations::BenchmarkReport& benchmark = *report.benchmark;
    if (benchmark.verdict) {
        QString verdict = QString::fromUtf8(profile::verdictName(*benchmark.verdict).data());
        verdict[0] = verdict[0].toUpper();
        group.rows.append({SourceEditPanel::tr("Verdict"), verdict, benchmark.verdict == profile::Verdict::Slower, false});
    }
    if (benchmark.ratio) {
        const auto number = [](double value) { return QString::number(value, 'f', 2); };
        group.rows.append({SourceEditPanel::tr("Times as fast"), number(benchmark.ratio->ratio), false, false});
        group.rows.append({SourceEditPanel::tr("95 %"),
                           SourceEditPanel::tr("%1 to %2, %3 pairs")
                               .arg(number(benchmark.ratio->interval.low), number(benchmark.ratio->interval.high),
                                    models::formatCount(benchmark.ratio->pairs)),
                           false, false});
    }
    group.rows.append({SourceEditPanel::tr("Before"), medianText(benchmark.sides[0]), false, false});
    group.rows.append({SourceEditPanel::tr("Edited"), medianText(benchmark.sides[1]), false, false});
    if (!benchmark.verdictReason.empty()) {
        group.rows.append({SourceEditPanel::tr("Note"), QString::fromStdString(benchmark.verdictReason), false, false});
    }
    return group;
}

} // namespace

SourceEditPanel::SourceEditPanel(Session& session, const models::VersionInfo& version, QWidget* parent)
    : QWidget(parent),
      m_session(session),
      m_version(version),
      m_banner(new Banner(this)),
      m_openEditor(m_banner->addButton(tr("Open the editor"))),
      m_run(m_banner->addButton(tr("Run now"))),
      m_python(m_banner->addButton(tr("Choose a Python…"))),
      m_startOver(m_banner->addButton(tr("Start over"))),
      m_stop(m_banner->addButton(tr("End the edit"))) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_banner);
    m_startOver->setToolTip(tr("Edit the captured source anew; the edited file is kept beside it"));
    hide();
    connect(m_openEditor, &QPushButton::clicked, this, &SourceEditPanel::openEditor);
    connect(m_run, &QPushButton::clicked, this, [this] {
        if (m_edit.state() == State::Running) {
            m_edit.cancel();
        } else {
            m_edit.runNow();
        }
    });
    connect(m_python, &QPushButton::clicked, this, &SourceEditPanel::choosePython);
    connect(m_startOver, &QPushButton::clicked, this, &SourceEditPanel::startOver);
    connect(m_stop, &QPushButton::clicked, &m_edit, [this] {
        m_watch.stop();
        m_edit.close();
    });
    connect(&m_watch, &models::SaveWatch::started, this, &SourceEditPanel::openEditor);
    connect(&m_watch, &models::SaveWatch::saved, &m_edit, &models::SourceEdit::saved);
    connect(&m_edit, &models::SourceEdit::runWanted, this, &SourceEditPanel::verify);
    connect(&m_edit, &models::SourceEdit::cancelWanted, this, [this] { m_session.jobs().cancel(m_job); });
    connect(&m_edit, &models::SourceEdit::changed, this, &SourceEditPanel::showState);
}

SourceEditPanel::~SourceEditPanel() {
    // A run for a page that is gone is of no use to anyone.
    if (m_edit.state() == State::Running) {
        m_session.jobs().cancel(m_job);
    }
}

void SourceEditPanel::begin() {
    if (m_edit.isOpen()) {
        openEditor();
    } else {
        openFile(false);
    }
}

void SourceEditPanel::startOver() {
    m_watch.stop();
    m_edit.close();
    openFile(true);
}

void SourceEditPanel::openFile(bool startsOver) {
    if (!m_session.registry()) {
        return;
    }
    m_edit.begin();
    m_session.pool().run(
        this,
        [registry = m_session.registry(), id = m_version.id.toStdString(),
         startsOver]() -> base::Result<operations::WorkingCopy> {
            base::Result<operations::WorkingCopy> copy =
                operations::prepareWorkingCopy(*registry, id, operations::workingCopyFolder());
            if (!copy || copy->isNew || !startsOver) {
                return copy;
            }
            const base::Result<std::filesystem::path> aside = operations::putAside(copy->file);
            return aside ? operations::prepareWorkingCopy(*registry, id, operations::workingCopyFolder()) : aside.error();
        },
        [this](const base::Result<operations::WorkingCopy>& outcome) {
            if (!outcome) {
                m_edit.failedToOpen(outcome.error());
                return;
            }
            m_className = QString::fromStdString(outcome->className);
            m_edit.opened(QString::fromStdString(outcome->file.string()), outcome->isNew);
            if (m_edit.isOpen()) {
                m_watch.start(m_edit.file());
            }
        });
}

void SourceEditPanel::openEditor() {
    if (!m_edit.isOpen() || m_edit.file().isEmpty()) {
        return;
    }
    m_editorFault.clear();
    const QStringList words = editorCommand(m_session.editor(), QProcessEnvironment::systemEnvironment(), m_edit.file());
    const auto tell = [this](bool isStarted, const QString& program) {
        if (!isStarted) {
            m_editorFault = tr("%1 could not be started. Open the file in any editor: every save is seen. View, Choose the "
                               "editor sets another.")
                                .arg(program);
            showState();
        }
    };
    if (words.isEmpty()) {
        tell(QDesktopServices::openUrl(QUrl::fromLocalFile(m_edit.file())), tr("The editor of this desktop"));
        return;
    }
    m_session.pool().run(
        this, [words] { return base::Result<bool>(QProcess::startDetached(words.first(), words.mid(1))); },
        [tell, words](const base::Result<bool>& outcome) { tell(outcome && *outcome, words.first()); });
}

void SourceEditPanel::verify(int run) {
    operations::VerifySettings settings;
    settings.file = m_edit.file().toStdString();
    settings.className = m_className.toStdString();
    settings.python = m_session.python().toStdString();
    settings.run.isTrusted = m_edit.trustsSaves();
    m_job = m_session.verify(m_version, settings, this,
                             [this, run](const base::Result<operations::VerifyReport>& outcome,
                                         const std::optional<operations::GuardedFile>& refused) {
                                 if (outcome) {
                                     m_edit.finished(run, std::make_shared<const operations::VerifyReport>(*outcome));
                                     return;
                                 }
                                 m_edit.failed(run, outcome.error());
                                 if (m_edit.state() == State::Asking && refused) {
                                     askForConsent(*refused);
                                 }
                             });
}

void SourceEditPanel::askForConsent(const operations::GuardedFile& file) {
    ConsentRequest request;
    request.file = file;
    request.sentence = tr("Run the edited %1 on the captured inputs of %2?").arg(m_className, m_version.title());
    request.laterText = tr("Later saves of this file too, until the edit is ended");
    request.forLater = [panel = QPointer<SourceEditPanel>(this)] {
        if (panel) {
            panel->m_edit.trustSaves();
        }
    };
    request.again = [panel = QPointer<SourceEditPanel>(this)] {
        if (panel) {
            panel->m_edit.runNow();
        }
    };
    request.ifNot = [panel = QPointer<SourceEditPanel>(this)] {
        if (panel) {
            panel->m_edit.declined();
        }
    };
    m_session.ask(request);
}

void SourceEditPanel::choosePython() {
    auto* dialog = new QFileDialog(this, tr("Choose the Python interpreter"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        m_session.setPython(path);
        m_edit.runNow();
    });
    dialog->open();
}

void SourceEditPanel::showState() {
    const State state = m_edit.state();
    const bool isOpen = m_edit.isOpen();
    setVisible(isOpen || m_edit.error().has_value());
    m_openEditor->setVisible(isOpen);
    m_run->setVisible(state == State::Watching || state == State::Running);
    m_run->setText(state == State::Running ? tr("Cancel") : tr("Run now"));
    m_python->setVisible(m_edit.error() && m_edit.error()->code == base::ErrorCode::EnvironmentMissing);
    m_startOver->setVisible(state == State::Watching);
    m_stop->setVisible(isOpen);
    const QString file = withTilde(m_edit.file());
    const QString name = QFileInfo(m_edit.file()).fileName();
    switch (state) {
        case State::Opening:
            m_banner->show(Banner::Kind::Neutral, tr("Writing the captured source to a file"), {});
            break;
        case State::Asking:
            m_banner->show(Banner::Kind::Warning, tr("Waiting for your consent"),
                           tr("%1 runs only when you allow it.").arg(file));
            break;
        case State::Running:
            m_banner->show(Banner::Kind::Neutral, tr("Running %1").arg(name),
                           tr("On the captured inputs, then in pairs against the code without the edit."));
            break;
        case State::Watching:
        case State::Closed:
            showAnswer();
            break;
    }
    emit changed();
}

void SourceEditPanel::showAnswer() {
    const QString file = withTilde(m_edit.file());
    QString about = m_edit.note();
    if (!m_editorFault.isEmpty()) {
        about += (about.isEmpty() ? QString() : QStringLiteral(" ")) + m_editorFault;
    }
    const auto with = [&about](const QString& text) { return about.isEmpty() ? text : about + u' ' + text; };
    if (m_edit.error()) {
        m_banner->show(Banner::Kind::Bad, titleOf(*m_edit.error()),
                       with(QString::fromStdString(operations::errorSentence(*m_edit.error()))));
    } else if (m_edit.report() != nullptr) {
        m_banner->show(kindOf(*m_edit.report()), QString::fromStdString(operations::verifySentence(*m_edit.report())),
                       with(tr("Save %1 to run it again.").arg(file)));
    } else if (m_edit.isNewFile()) {
        m_banner->show(
            Banner::Kind::Neutral, tr("Edit %1 and save it").arg(QFileInfo(m_edit.file()).fileName()),
            with(tr("Every save runs it on the captured inputs and compares with the captured outputs: %1").arg(file)));
    } else {
        m_banner->show(Banner::Kind::Neutral, tr("Your file is as you left it"),
                       with(tr("Save it again or run it now: %1").arg(file)));
    }
}

QList<KeyValueList::Group> SourceEditPanel::facts() const {
    if (m_edit.report() == nullptr) {
        return {};
    }
    return {comparedWithOutputs(m_edit.report()->validation), comparedInTime(*m_edit.report())};
}

} // namespace modulelens::explorer
