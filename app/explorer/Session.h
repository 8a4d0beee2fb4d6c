// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backend/operations/Operations.h"
#include "backend/operations/Permissions.h"
#include "models/JobModel.h"
#include "models/RegistrySearch.h"
#include "models/Task.h"
#include "models/VersionInfo.h"

#include <QObject>
#include <QStringList>

#include <filesystem>
#include <functional>
#include <memory>

namespace modulelens::explorer {

/// Something that was not done because it would read code or pickles that the user has not consented to.
struct ConsentRequest {
    operations::GuardedFile file;
    QString sentence;                ///< What the file is, for the question.
    QString ifDeclined;              ///< What stays as it was.
    std::function<void()> again;     ///< Does what was asked for once more.
    QString laterText = {};          ///< What may be allowed besides, of its own choice; empty: nothing.
    std::function<void()> forLater = {};   ///< Told before `again` when that was chosen too.
    std::function<void()> ifNot = {};      ///< Told when it was declined, in the place of a sentence in the window.
};

/// What a profile measures beside the forward pass.
struct ProfileChoice {
    bool backward = false;
    QString train;                   ///< "sgd" or "adam": a whole training step; empty: none.
};

/// What the window works on: the registry, the operations with their worker, the jobs. Everything that blocks runs on the
/// task pool or the job queue. Owned by main(). Confined to its thread (the GUI thread).
class Session : public QObject {
    Q_OBJECT

public:
    /// `workerCommand` empty: the worker beside the program. `threads` of the task pool; 0 runs everything inline.
    Session(std::vector<std::string> workerCommand, int threads, QObject* parent = nullptr);
    ~Session() override;

    /// Opens the registry folder (creating it when there is none) off the GUI thread; opened() or openFailed() follows.
    void openFolder(const std::filesystem::path& folder);
    /// Works on a registry that is open already.
    void adopt(std::shared_ptr<registry::Registry> registry);

    [[nodiscard]] models::TaskPool& pool() { return m_pool; }
    [[nodiscard]] models::RegistrySearch& search() { return m_search; }
    [[nodiscard]] models::JobModel& jobs() { return m_jobs; }
    /// Null until a registry is open.
    [[nodiscard]] const std::shared_ptr<operations::Operations>& operations() const { return m_operations; }
    [[nodiscard]] const std::shared_ptr<registry::Registry>& registry() const { return m_registry; }
    /// Folder of the registry for a person, or its name.
    [[nodiscard]] QString registryName() const { return m_registryName; }
    [[nodiscard]] QString workerText() const { return m_workerText; }
    [[nodiscard]] QStringList devices() const { return m_devices; }

    [[nodiscard]] QString device() const { return m_device; }
    void setDevice(const QString& device) { m_device = device; }
    /// The interpreter that runs Python code; empty: the active environment's.
    [[nodiscard]] QString python() const { return m_python; }
    void setPython(const QString& python);
    /// The command of the editor; empty: as the environment says.
    [[nodiscard]] QString editor() const { return m_editor; }
    void setEditor(const QString& editor) { m_editor = editor; }
    void setThreads(std::optional<int> threads) { m_runThreads = threads; }

    /// Jobs on a version; the id of the job. Their results come by validated() and profiled().
    int validate(const models::VersionInfo& version);
    int profile(const models::VersionInfo& version, const ProfileChoice& choice = {});
    int benchmark(const models::VersionInfo& version);
    /// `dimensions` as the command line has them, parted by spaces: "batch=1,2,4". 0 and failed() when they are malformed.
    int sweep(const models::VersionInfo& version, const QString& dimensions);
    /// Verifies an edit in a job on this session's device; its id. `done` follows in this thread with what came of it, and
    /// with the code that was refused for want of consent, unless `context` is gone by then.
    using VerifyDone =
        std::function<void(const base::Result<operations::VerifyReport>&, const std::optional<operations::GuardedFile>&)>;
    int verify(const models::VersionInfo& version, const operations::VerifySettings& settings, QObject* context,
               VerifyDone done);
    /// Imports a bundle, a .mlens, a folder of bundles, or a .pt2, TorchScript or AOTInductor file. 0 when the registry cannot
    /// import. consentNeeded() follows when the file holds code or pickles that nobody consented to.
    /// `inputs` as the command line's --input has them; inputsNeeded() follows when a model came without any.
    int importPath(const QString& path, const QStringList& inputs = {});
    /// Every program is loaded after this library of operators from now on; librariesChanged(), consentNeeded() or failed()
    /// follows.
    void addLibrary(const QString& path);
    void forgetLibraries();
    /// File names of the libraries.
    [[nodiscard]] QStringList libraries() const;

    /// Has the user asked: consentNeeded() follows.
    void ask(const ConsentRequest& request) { emit consentNeeded(request); }
    /// The user consents to the file of `request`, which is remembered; what was asked for is done.
    void allow(const ConsentRequest& request);
    /// The user does not: declined() follows, and nothing else.
    void decline(const ConsentRequest& request);

    enum class Label { AddTag, RemoveTag, SetAlias, RemoveAlias };
    void editLabel(const models::VersionInfo& version, Label label, const QString& text);
    /// Finds a version by address or id; versionResolved() or failed() follows.
    void resolve(const QString& addressOrId);
    /// The same for a version that may be gone by now: nothing follows when it is.
    void resolveIfThere(const QString& id);
    /// Starts the worker, if it is not running, to learn its devices; workerChanged() follows.
    void askWorker();

signals:
    void opened();
    void openFailed(const QString& sentence);
    void versionResolved(const modulelens::models::VersionInfo& version);
    /// Tags, aliases, verdict or latency of a version changed.
    void versionChanged(const modulelens::models::VersionInfo& version);
    void validated(const QString& id, std::shared_ptr<const modulelens::operations::ValidationReport> report);
    void profiled(const QString& id, std::shared_ptr<const modulelens::profile::Profile> profile);
    void imported();
    void consentNeeded(const modulelens::explorer::ConsentRequest& request);
    void declined(const QString& sentence);
    /// The model in `path` was imported, but cannot run before someone says on which inputs.
    void inputsNeeded(const QString& path);
    void librariesChanged();
    void workerChanged();
    /// Something asked for could not be done; for the banner.
    void failed(const QString& sentence);

private:
    void refreshVersion(const QString& id);
    void askForConsent(const QString& ifDeclined, std::function<void()> again);
    void importInbox();
    [[nodiscard]] operations::RunSettings runSettings() const;

    std::stop_source m_stop;   ///< Of background work that is no job.
    models::TaskPool m_pool;
    std::vector<std::string> m_workerCommand;
    std::shared_ptr<registry::Registry> m_registry;
    std::shared_ptr<registry::LocalRegistry> m_local;
    std::shared_ptr<operations::Operations> m_operations;
    models::RegistrySearch m_search;
    QString m_registryName;
    QString m_workerText;
    QStringList m_devices;
    QString m_device = QStringLiteral("cpu");
    QString m_python;
    QString m_editor;
    std::optional<int> m_runThreads;
    bool m_askedWorker = false;
    models::JobModel m_jobs;   ///< Ends first: its jobs use the operations.
};

} // namespace modulelens::explorer
