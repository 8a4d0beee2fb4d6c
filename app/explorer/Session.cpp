// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/Session.h"

#include "backend/operations/ForeignImport.h"
#include "backend/operations/JobQueue.h"
#include "backend/operations/MeasuringJobs.h"
#include "backend/operations/Verifying.h"
#include "backend/registry/VersionAddress.h"
#include "models/Format.h"

#include <QDir>
#include <QFileInfo>
#include <QPointer>

#include <chrono>

namespace modulelens::explorer {

namespace {

constexpr std::chrono::seconds kLongestStart{60};   ///< Of a worker, until it has said what it is.

QString sentence(const base::Error& error) {
    return QString::fromStdString(operations::errorSentence(error));
}

template <class T>
bool needsConsent(const base::Result<T>& outcome) {
    return !outcome && outcome.error().code == base::ErrorCode::ConsentNeeded;
}

/// Whether the model that came from the file `path` last waits for inputs. Blocks on the registry.
bool isWithoutInputs(registry::Registry& registry, const QString& path) {
    const std::string first = registry::formatVersionAddress(std::filesystem::path(path.toStdString()).stem().string(), {}, 0);
    const base::Result<registry::VersionSummary> version = registry.resolve(first.substr(0, first.rfind('@')));
    if (!version || version->attributes.count("imported_from") == 0) {
        return false;
    }
    const base::Result<capture::VersionDocument> document = registry.versionDocument(version->id);
    return document && !document->calls.empty() && operations::isWithoutInputs(document->calls.front());
}

QString withTilde(const QString& path) {
    const QString home = QDir::homePath();
    return path.startsWith(home + u'/') ? u'~' + path.mid(home.size()) : path;
}

} // namespace

Session::Session(std::vector<std::string> workerCommand, int threads, QObject* parent)
    : QObject(parent),
      m_pool(threads),
      m_workerCommand(std::move(workerCommand)),
      m_search(m_pool),
      m_workerText(tr("No worker running")) {}

Session::~Session() {
    // The pool waits for what runs; a worker that hangs must not keep the window from ending.
    m_stop.request_stop();
}

void Session::openFolder(const std::filesystem::path& folder) {
    m_registryName = withTilde(QString::fromStdString(folder.string()));
    m_pool.run(
        this,
        [folder] {
            return registry::LocalRegistry::open(base::realFileSystem(), folder, registry::LocalRegistry::Mode::ReadWrite);
        },
        [this](base::Result<std::unique_ptr<registry::LocalRegistry>> outcome) {
            if (!outcome) {
                emit openFailed(sentence(outcome.error()));
                return;
            }
            m_local = std::move(*outcome);
            adopt(m_local);
            importInbox();
        });
}

void Session::adopt(std::shared_ptr<registry::Registry> registry) {
    m_registry = std::move(registry);
    if (m_registryName.isEmpty()) {
        m_registryName = QString::fromStdString(m_registry->displayName());
    }
    m_operations = std::make_shared<operations::Operations>(m_registry, m_workerCommand);
    m_search.setRegistry(m_registry);
    if (!m_python.isEmpty()) {
        m_operations->usePython(m_python.toStdString(), {});
    }
    emit opened();
}

void Session::setPython(const QString& python) {
    m_python = python;
    if (m_operations) {
        m_operations->usePython(python.toStdString(), {});
    }
}

void Session::importInbox() {
    m_pool.run(
        this, [local = m_local, stop = m_stop.get_token()] { return local->importInbox(stop, {}); },
        [this](const base::Result<registry::ImportReport>& outcome) {
            if (!outcome) {
                emit failed(sentence(outcome.error()));
            } else if (outcome->versionsNew > 0) {
                m_search.refresh();
                emit imported();
            }
        });
}

operations::RunSettings Session::runSettings() const {
    operations::RunSettings settings;
    settings.device = m_device.toStdString();
    settings.threads = m_runThreads;
    return settings;
}

int Session::validate(const models::VersionInfo& version) {
    if (!m_operations) {
        return 0;
    }
    const QString id = version.id;
    auto done = [this, id, version](const base::Result<operations::ValidationReport>& outcome) {
        if (needsConsent(outcome)) {
            askForConsent(tr("%1 was not run").arg(version.title()), [this, version] { validate(version); });
        }
        if (outcome) {
            auto report = std::make_shared<const operations::ValidationReport>(*outcome);
            QMetaObject::invokeMethod(
                this,
                [this, id, report] {
                    emit validated(id, report);
                    refreshVersion(id);
                },
                Qt::QueuedConnection);
        }
    };
    return m_jobs.add(operations::validateJob(*m_operations, id.toStdString(), runSettings(), done), version.title(), m_device);
}

int Session::profile(const models::VersionInfo& version, const ProfileChoice& choice) {
    if (!m_operations) {
        return 0;
    }
    const QString id = version.id;
    auto done = [this, id, version, choice](const base::Result<operations::ProfileReport>& outcome) {
        if (needsConsent(outcome)) {
            askForConsent(tr("%1 was not run").arg(version.title()), [this, version, choice] { profile(version, choice); });
        }
        if (outcome) {
            QMetaObject::invokeMethod(
                this,
                [this, id, profile = outcome->profile] {
                    emit profiled(id, profile);
                    refreshVersion(id);
                },
                Qt::QueuedConnection);
        }
    };
    operations::RunSettings settings = runSettings();
    settings.backward = choice.backward;
    settings.train = choice.train.toStdString();
    return m_jobs.add(operations::profileJob(*m_operations, id.toStdString(), settings, done), version.title(), m_device);
}

int Session::benchmark(const models::VersionInfo& version) {
    if (!m_operations) {
        return 0;
    }
    auto done = [this, version](const base::Result<operations::BenchmarkReport>& outcome) {
        if (needsConsent(outcome)) {
            askForConsent(tr("%1 was not run").arg(version.title()), [this, version] { benchmark(version); });
        }
    };
    operations::BenchmarkSettings settings;
    settings.run = runSettings();
    return m_jobs.add(operations::benchmarkJob(*m_operations, version.id.toStdString(), settings, done), version.title(),
                      m_device);
}

int Session::sweep(const models::VersionInfo& version, const QString& dimensions) {
    if (!m_operations) {
        return 0;
    }
    operations::SweepSettings settings;
    settings.run = runSettings();
    for (const QString& word : dimensions.split(u' ', Qt::SkipEmptyParts)) {
        base::Result<operations::SweepDimension> dimension = operations::parseSweepDimension(word.toStdString());
        if (!dimension) {
            emit failed(sentence(dimension.error()));
            return 0;
        }
        settings.dimensions.push_back(*std::move(dimension));
    }
    auto done = [this, version, dimensions](const base::Result<operations::SweepReport>& outcome) {
        if (needsConsent(outcome)) {
            askForConsent(tr("%1 was not run").arg(version.title()),
                          [this, version, dimensions] { sweep(version, dimensions); });
        }
    };
    return m_jobs.add(operations::sweepJob(*m_operations, version.id.toStdString(), settings, done), version.title(), m_device);
}

int Session::verify(const models::VersionInfo& version, const operations::VerifySettings& settings, QObject* context,
                    VerifyDone done) {
    if (!m_operations) {
        return 0;
    }
    operations::VerifySettings all = settings;
    all.run = runSettings();
    all.run.isTrusted = settings.run.isTrusted;
    auto onQueue = [this, receiver = QPointer<QObject>(context),
                    done = std::move(done)](const base::Result<operations::VerifyReport>& outcome) {
        // Taken here, before another job is refused something.
        const auto refused = needsConsent(outcome) ? m_operations->permissions().takeRefused() : std::nullopt;
        auto shared = std::make_shared<const base::Result<operations::VerifyReport>>(outcome);
        QMetaObject::invokeMethod(
            this,
            [receiver, done, refused, shared] {
                if (receiver) {
                    done(*shared, refused);
                }
            },
            Qt::QueuedConnection);
    };
    return m_jobs.add(operations::verifyJob(*m_operations, version.id.toStdString(), all, onQueue), version.title(), m_device);
}

void Session::addLibrary(const QString& path) {
    if (!m_operations) {
        emit failed(tr("No registry is open, so nothing can run that would need a library."));
        return;
    }
    m_pool.run(
        this, [operations = m_operations, path = path.toStdString()] { return operations->permissions().addLibrary(path); },
        [this, path](const base::Result<void>& outcome) {
            if (outcome) {
                emit librariesChanged();
            } else if (needsConsent(outcome)) {
                askForConsent(tr("The library %1 was not loaded").arg(QFileInfo(path).fileName()),
                              [this, path] { addLibrary(path); });
            } else {
                emit failed(sentence(outcome.error()));
            }
        });
}

void Session::forgetLibraries() {
    if (m_operations) {
        m_operations->permissions().clearLibraries();
        emit librariesChanged();
    }
}

QStringList Session::libraries() const {
    QStringList names;
    if (m_operations) {
        for (const protocol::OperatorLibrary& library : m_operations->permissions().libraries()) {
            names.append(QFileInfo(QString::fromStdString(library.file)).fileName());
        }
    }
    return names;
}

/// Called on any thread, right after the refusal.
void Session::askForConsent(const QString& ifDeclined, std::function<void()> again) {
    const std::optional<operations::GuardedFile> file = m_operations->permissions().takeRefused();
    if (!file) {
        return;
    }
    ConsentRequest request{*file, QString::fromStdString(operations::consentQuestion(*file)), ifDeclined, std::move(again)};
    QMetaObject::invokeMethod(
        this, [this, request = std::move(request)] { emit consentNeeded(request); }, Qt::QueuedConnection);
}

void Session::allow(const ConsentRequest& request) {
    m_pool.run(
        this, [operations = m_operations, file = request.file] { return operations->permissions().require(file, true); },
        [this, again = request.again](const base::Result<void>& outcome) {
            if (outcome) {
                again();
            } else {
                emit failed(sentence(outcome.error()));
            }
        });
}

void Session::decline(const ConsentRequest& request) {
    if (request.ifNot) {
        request.ifNot();
        return;
    }
    emit declined(request.ifDeclined + tr(": you did not consent to it. Nothing was read and nothing changed."));
}

int Session::importPath(const QString& path, const QStringList& inputs) {
    if (!m_registry) {
        emit failed(
            tr("No registry is open, so nothing can be imported. Start the explorer with --registry and a folder that "
               "can be written to."));
        return 0;
    }
    if (!m_local) {
        emit failed(tr("This registry cannot import bundles; open a local one."));
        return 0;
    }
    auto done = [this, path, inputs](const base::Result<registry::ImportReport>& outcome) {
        if (outcome) {
            QMetaObject::invokeMethod(
                this,
                [this] {
                    m_search.refresh();
                    emit imported();
                },
                Qt::QueuedConnection);
        }
        const QString name = QFileInfo(path).fileName();
        if (outcome && outcome->needsConsent) {
            askForConsent(tr("%1 was imported without its sample inputs").arg(name), [this, path] { importPath(path); });
        } else if (outcome && isWithoutInputs(*m_registry, path)) {
            QMetaObject::invokeMethod(this, [this, path] { emit inputsNeeded(path); }, Qt::QueuedConnection);
        } else if (needsConsent(outcome)) {
            askForConsent(tr("%1 was not imported").arg(name), [this, path, inputs] { importPath(path, inputs); });
        }
    };
    operations::ImportSettings settings;
    for (const QString& input : inputs) {
        settings.inputs.push_back(input.toStdString());
    }
    return m_jobs.add(operations::importJob(*m_operations, path.toStdString(), settings, done), withTilde(path),
                      models::notApplicable());
}

void Session::editLabel(const models::VersionInfo& version, Label label, const QString& text) {
    if (!m_registry) {
        return;
    }
    m_pool.run(
        this,
        [registry = m_registry, id = version.id.toStdString(), text = text.toStdString(), label]() -> base::Result<void> {
            switch (label) {
                case Label::AddTag:
                    return registry->addTag(id, text);
                case Label::RemoveTag:
                    return registry->removeTag(id, text);
                case Label::SetAlias:
                    return registry->setAlias(id, text);
                case Label::RemoveAlias:
                    return registry->removeAlias(id, text);
            }
            return {};
        },
        [this, id = version.id, label](const base::Result<void>& outcome) {
            if (!outcome) {
                emit failed(sentence(outcome.error()));
            }
            // An alias may have moved away from another version: everything shown is asked again.
            if (label == Label::SetAlias) {
                m_search.refresh();
            }
            refreshVersion(id);
        });
}

void Session::refreshVersion(const QString& id) {
    m_pool.run(
        this, [registry = m_registry, id = id.toStdString()] { return registry->resolve(id); },
        [this](const base::Result<registry::VersionSummary>& outcome) {
            if (outcome) {
                const models::VersionInfo info = models::versionInfoOf(*outcome);
                m_search.tree().updateVersion(info);
                emit versionChanged(info);
            }
        });
}

void Session::resolve(const QString& addressOrId) {
    if (!m_registry) {
        return;
    }
    m_pool.run(
        this, [registry = m_registry, text = addressOrId.toStdString()] { return registry->resolve(text); },
        [this](const base::Result<registry::VersionSummary>& outcome) {
            if (outcome) {
                emit versionResolved(models::versionInfoOf(*outcome));
            } else {
                emit failed(sentence(outcome.error()));
            }
        });
}

void Session::resolveIfThere(const QString& id) {
    m_pool.run(
        this, [registry = m_registry, text = id.toStdString()] { return registry->resolve(text); },
        [this](const base::Result<registry::VersionSummary>& outcome) {
            if (outcome) {
                emit versionResolved(models::versionInfoOf(*outcome));
            }
        });
}

void Session::askWorker() {
    if (m_askedWorker || !m_operations) {
        return;
    }
    m_askedWorker = true;
    m_workerText = tr("Starting the worker");
    emit workerChanged();
    operations::OperationContext context;
    context.stop = m_stop.get_token();
    context.timeout = kLongestStart;
    m_pool.run(
        this, [operations = m_operations, context] { return operations->workerInfo(context); },
        [this](const base::Result<protocol::InitializeResult>& outcome) {
            if (!outcome) {
                m_askedWorker = false;
                m_workerText = sentence(outcome.error());
            } else {
                m_workerText = tr("Worker ready: libtorch ") + QString::fromStdString(outcome->torchVersion);
                m_devices.clear();
                for (const protocol::DeviceInfo& device : outcome->devices) {
                    QString text = QString::fromStdString(device.name);
                    if (!device.description.empty()) {
                        text += QStringLiteral("  ") + QString::fromStdString(device.description).simplified();
                    }
                    m_devices.append(text);
                }
                if (!m_devices.isEmpty()) {
                    m_devices.first() += QStringLiteral(" · ") + QString::number(outcome->threads) + tr(" threads");
                }
            }
            emit workerChanged();
        });
}

} // namespace modulelens::explorer
