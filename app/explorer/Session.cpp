// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/Session.h"

#include "backend/operations/JobQueue.h"
#include "models/Format.h"

#include <QDir>

#include <chrono>

namespace modulelens::explorer {

namespace {

constexpr std::chrono::seconds kLongestStart{60};   ///< Of a worker, until it has said what it is.

QString sentence(const base::Error& error) {
    return QString::fromStdString(operations::errorSentence(error));
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
    emit opened();
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
    auto done = [this, id](const base::Result<operations::ValidationReport>& outcome) {
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
    return m_jobs.add(operations::validateJob(*m_operations, id.toStdString(), runSettings(), done), version.address(),
                      m_device);
}

int Session::profile(const models::VersionInfo& version) {
    if (!m_operations) {
        return 0;
    }
    const QString id = version.id;
    auto done = [this, id](const base::Result<operations::ProfileReport>& outcome) {
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
    return m_jobs.add(operations::profileJob(*m_operations, id.toStdString(), runSettings(), done), version.address(),
                      m_device);
}

int Session::importPath(const QString& path) {
    return addImport(path, false);
}

int Session::importTrusted(const QString& path) {
    return addImport(path, true);
}

int Session::addImport(const QString& path, bool isTrusted) {
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
    auto done = [this, path](const base::Result<registry::ImportReport>& outcome) {
        QString refusal;
        bool isImported = outcome.hasValue();
        if (outcome && outcome->needsConsent) {
            refusal = QString::fromStdString(outcome->warnings.back());
        } else if (!outcome && outcome.error().code == base::ErrorCode::ConsentNeeded) {
            refusal = QString::fromStdString(outcome.error().message);
        }
        QMetaObject::invokeMethod(
            this,
            [this, path, refusal, isImported] {
                if (isImported) {
                    m_search.refresh();
                    emit imported();
                }
                if (!refusal.isEmpty()) {
                    emit consentNeeded(path, refusal);
                }
            },
            Qt::QueuedConnection);
    };
    operations::ImportSettings settings;
    settings.isTrusted = isTrusted;
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
