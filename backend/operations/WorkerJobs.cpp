// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/operations/WorkerJobs.h"

#include "backend/operations/SourceInput.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace modulelens::operations {

namespace {

constexpr std::size_t kProgramsKept = 3;

/// The same key: the same program, or the same source, with the same weights.
std::string programKey(const VersionInput& input) {
    const std::string what = input.usesSource ? std::string(protocol::engine_name::kSource) : input.program;
    const std::string edit = input.edited ? ' ' + input.edited->sha256 + ' ' + input.edited->className : std::string();
    return what + (input.needsCode ? " code " : " ") + input.document.stateDigest + edit;
}

workerclient::RequestContext requestContext(const OperationContext& context, const Deadline& deadline) {
    workerclient::RequestContext request;
    request.stop = context.stop;
    request.progress = context.progress;
    request.log = context.log;
    request.timeout = deadline.remaining();
    return request;
}

} // namespace

Deadline::Deadline(std::optional<std::chrono::milliseconds> timeout) {
    // Anything beyond a year is no limit; adding it to the clock could overflow.
    constexpr std::chrono::hours kNoLimit{24 * 365};
    if (timeout && *timeout < kNoLimit) {
        m_end = std::chrono::steady_clock::now() + *timeout;
    }
}

std::optional<std::chrono::milliseconds> Deadline::remaining() const {
    if (!m_end) {
        return std::nullopt;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*m_end - std::chrono::steady_clock::now());
    return std::max(left, std::chrono::milliseconds(1));
}

WorkerJobs::WorkerJobs(std::vector<std::string> command, Permissions& permissions)
    : m_permissions(permissions), m_client({std::move(command), {}, std::nullopt}) {}

base::Result<protocol::InitializeResult> WorkerJobs::facts(const OperationContext& context) {
    return m_client.initialize(requestContext(context, Deadline(context.timeout)));
}

base::Result<void> WorkerJobs::takeTurn(const OperationContext& context, const Deadline& deadline) {
    std::unique_lock lock(m_turnMutex);
    const auto isFree = [this] { return !m_busy; };
    const auto limit = deadline.remaining();
    const bool got =
        limit ? m_turnChanged.wait_for(lock, context.stop, *limit, isFree) : m_turnChanged.wait(lock, context.stop, isFree);
    if (!got) {
        return context.stop.stop_requested()
                   ? base::Error{base::ErrorCode::Cancelled, "the job was cancelled before its turn came", {}}
                   : base::Error{base::ErrorCode::Timeout, "the worker was busy until the time limit", "Allow more time."};
    }
    m_busy = true;
    return {};
}

void WorkerJobs::giveTurn() {
    {
        const std::lock_guard lock(m_turnMutex);
        m_busy = false;
    }
    m_turnChanged.notify_one();
}

base::Result<protocol::SourceLoadResult> WorkerJobs::loaded(registry::Registry& registry, const VersionInput& input, int copy,
                                                            const std::string& device,
                                                            const workerclient::RequestContext& request) {
    const int generation = m_client.processId() == 0 ? -1 : m_client.generation();
    m_entries.remove_if([&](const Entry& entry) { return entry.generation != generation; });
    std::string key = programKey(input) + ' ' + device + ' ' + std::to_string(copy);
    for (const protocol::OperatorLibrary& library : m_permissions.libraries()) {
        key += ' ' + library.sha256;
    }
    const auto found = std::find_if(m_entries.begin(), m_entries.end(), [&](const Entry& entry) { return entry.key == key; });
    if (found != m_entries.end()) {
        m_entries.splice(m_entries.begin(), m_entries, found);
        return m_entries.front().result;
    }
    while (m_entries.size() >= kProgramsKept) {
        static_cast<void>(m_client.unload(m_entries.back().result.load.handle, request));
        m_entries.pop_back();
    }
    base::Result<protocol::SourceLoadResult> result =
        input.usesSource ? loadSource(registry, input, device, request) : loadProgram(registry, input, device, request);
    if (result) {
        m_entries.push_front({key, m_client.generation(), *result});
    }
    return result;
}

base::Result<protocol::SourceLoadResult> WorkerJobs::loadProgram(registry::Registry& registry, const VersionInput& input,
                                                                 const std::string& device,
                                                                 const workerclient::RequestContext& request) {
    base::Result<protocol::LoadParams> params = loadParams(registry, input, device);
    if (!params) {
        return params.error();
    }
    const bool needsConsent = !programFormat(input.programHow).isExported;
    if (needsConsent) {
        if (const auto allowed = m_permissions.require({input.program, params->format, input.address()}); !allowed) {
            return allowed.error();
        }
    }
    params->libraries = m_permissions.libraries();
    params->consent = m_permissions.consent(needsConsent ? input.program : std::string());
    base::Result<protocol::LoadResult> load = m_client.load(*params, request);
    return load ? base::Result<protocol::SourceLoadResult>({*std::move(load), input.programHow, {}, {}}) : load.error();
}

base::Result<protocol::SourceLoadResult> WorkerJobs::loadSource(registry::Registry& registry, const VersionInput& input,
                                                                const std::string& device,
                                                                const workerclient::RequestContext& request) {
    base::Result<protocol::SourceLoadParams> params = sourceLoadParams(registry, input, device);
    if (!params) {
        return params.error();
    }
    const base::Result<protocol::CodeResult> code = m_client.code({params->source}, request);
    if (!code) {
        return code.error();
    }
    if (!code->sha256.empty()) {
        const base::Result<void> allowed =
            input.isTrusted ? base::Result<void>() : m_permissions.require({code->sha256, "source", code->sentence});
        if (!allowed) {
            return allowed.error();
        }
        params->load.consent.push_back(code->sha256);
    }
    return m_client.load(*params, request);
}

base::Result<void> WorkerJobs::run(registry::Registry& registry, const VersionInput& input, const std::string& device,
                                   const OperationContext& context, const Job& job) {
    return runAll(registry, {&input}, device, context,
                  [&](workerclient::WorkerClient& client, const std::vector<Loaded>& loaded,
                      const workerclient::RequestContext& request) { return job(client, loaded.front(), request); });
}

base::Result<void> WorkerJobs::runAll(registry::Registry& registry, const std::vector<const VersionInput*>& inputs,
                                      const std::string& device, const OperationContext& context, const ManyJob& job) {
    return inTurn(context, [&](const Deadline& deadline) -> base::Result<void> {
        const base::Result<protocol::InitializeResult> facts = m_client.initialize(requestContext(context, deadline));
        if (!facts) {
            return facts.error();
        }
        std::vector<Loaded> all;
        all.reserve(inputs.size());
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const auto isTwin = [&](const VersionInput* other) {
                return programKey(*other) == programKey(*inputs[i]) && *other->call().json != *inputs[i]->call().json;
            };
            const auto end = inputs.begin() + static_cast<std::ptrdiff_t>(i);
            const auto copy = static_cast<int>(std::count_if(inputs.begin(), end, isTwin));
            const auto result = loaded(registry, *inputs[i], copy, device, requestContext(context, deadline));
            if (!result) {
                return result.error();
            }
            Loaded ready{result->load, environmentWarnings(inputs[i]->document, *facts, device), *result};
            ready.warnings.insert(ready.warnings.end(), result->load.warnings.begin(), result->load.warnings.end());
            all.push_back(std::move(ready));
        }
        return job(m_client, all, requestContext(context, deadline));
    });
}

base::Result<void> WorkerJobs::use(const OperationContext& context, const PlainJob& job) {
    return inTurn(context, [&](const Deadline& deadline) { return job(m_client, requestContext(context, deadline)); });
}

base::Result<void> WorkerJobs::inTurn(const OperationContext& context,
                                      const std::function<base::Result<void>(const Deadline&)>& work) {
    const Deadline deadline(context.timeout);
    if (base::Result<void> turn = takeTurn(context, deadline); !turn) {
        return turn;
    }
    base::Result<void> result = work(deadline);
    giveTurn();
    return result;
}

base::Result<protocol::InspectResult> WorkerJobs::inspect(protocol::InspectParams params, const OperationContext& context) {
    params.libraries = m_permissions.libraries();
    params.consent = m_permissions.consent(params.sha256);
    protocol::InspectResult result;
    const base::Result<void> done = inTurn(context, [&](const Deadline& deadline) -> base::Result<void> {
        const base::Result<protocol::InitializeResult> facts = m_client.initialize(requestContext(context, deadline));
        if (!facts) {
            return facts.error();
        }
        base::Result<protocol::InspectResult> inspected = m_client.inspect(params, requestContext(context, deadline));
        if (!inspected) {
            return inspected.error();
        }
        result = *std::move(inspected);
        return {};
    });
    return done ? base::Result<protocol::InspectResult>(std::move(result)) : done.error();
}

} // namespace modulelens::operations
