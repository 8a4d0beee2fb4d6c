// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "app/worker/Methods.h"

#include "app/worker/Faults.h"
#include "backend/engine/Engine.h"
#include "backend/protocol/BenchmarkMessages.h"
#include "backend/protocol/CalibrateMessages.h"
#include "backend/protocol/ForeignMessages.h"
#include "backend/protocol/MemoryMessages.h"
#include "backend/protocol/WorkerMessages.h"
#include "backend/rpc/Dispatcher.h"

#include <chrono>
#include <string>

namespace modulelens::worker {

namespace {

namespace method = protocol::method;
using Json = nlohmann::json;

constexpr std::chrono::milliseconds kProgressInterval{34};

const char* const kMethods[] = {method::kInitialize, method::kLoad,      method::kUnload,    method::kRun,
                                method::kValidate,   method::kGradients, method::kBenchmark, method::kCalibrate,
                                method::kProfile,    method::kMemory,    method::kInspect,   method::kShutdown};

/// Progress of one request: each stage as it begins, and then at most thirty messages a second.
class ProgressSender {
public:
    ProgressSender(rpc::Dispatcher& dispatcher, Faults& faults, const rpc::RequestInfo& request)
        : m_dispatcher(&dispatcher), m_faults(&faults), m_id(request.id), m_stop(request.stop) {}

    void operator()(std::string_view stage, std::int64_t done, std::int64_t total) {
        const Clock::time_point now = Clock::now();
        if (stage == m_stage && now - m_last < kProgressInterval) {
            return;
        }
        const bool isNew = stage != m_stage;
        m_stage = stage;
        m_last = now;
        m_dispatcher->notify(method::kProgress, protocol::toJson(protocol::Progress{m_id, m_stage, done, total}));
        if (isNew) {
            m_faults->onStage(m_stage, m_stop);
        }
    }

private:
    using Clock = std::chrono::steady_clock;
    rpc::Dispatcher* m_dispatcher;
    Faults* m_faults;
    std::int64_t m_id;
    std::stop_token m_stop;
    std::string m_stage;
    Clock::time_point m_last;
};

class Methods {
public:
    Methods(rpc::Dispatcher& dispatcher, engine::Engine& engine, Faults& faults)
        : m_dispatcher(dispatcher), m_engine(engine), m_faults(faults) {}

    /// A method that needs an initialized worker: `parse` gives the parameters, `answer` the result.
    template <class Parse, class Answer>
    void add(const char* name, Parse parse, Answer answer) {
        m_dispatcher.addMethod(
            name, [this, name, parse, answer](const Json& json, const rpc::RequestInfo& request) -> base::Result<Json> {
                m_faults.onMethod(name);
                if (!*m_isInitialized) {
                    return base::Error{base::ErrorCode::InvalidArgument, "the worker was not initialized",
                                       "Send initialize first."};
                }
                const auto params = parse(json);
                if (!params) {
                    return params.error();
                }
                auto result = answer(m_engine, params.value(),
                                     engine::JobContext{request.stop, ProgressSender(m_dispatcher, m_faults, request)});
                if (!result) {
                    return result.error();
                }
                return protocol::toJson(result.value());
            });
    }

    void addInitialize() {
        m_dispatcher.addMethod(method::kInitialize, [this](const Json& json, const rpc::RequestInfo&) -> base::Result<Json> {
            m_faults.onMethod(method::kInitialize);
            const auto params = protocol::parseInitializeParams(json);
            if (!params) {
                return params.error();
            }
            auto result = m_engine.initialize(params.value());
            if (!result) {
                return result.error();
            }
            result.value().worker += " " MODULELENS_VERSION;
            result.value().capabilities.assign(std::begin(kMethods), std::end(kMethods));
            *m_isInitialized = true;
            return protocol::toJson(result.value());
        });
    }

    void addUnload() {
        m_dispatcher.addMethod(method::kUnload, [this](const Json& json, const rpc::RequestInfo&) -> base::Result<Json> {
            m_faults.onMethod(method::kUnload);
            const auto params = protocol::parseUnloadParams(json);
            if (!params) {
                return params.error();
            }
            const auto result = m_engine.unload(params.value());
            return result ? base::Result<Json>(Json(nullptr)) : base::Result<Json>(result.error());
        });
    }

    void addShutdown() {
        m_dispatcher.addMethod(method::kShutdown, [this](const Json&, const rpc::RequestInfo&) -> base::Result<Json> {
            m_faults.onMethod(method::kShutdown);
            m_dispatcher.close();
            return Json(nullptr);
        });
    }

private:
    rpc::Dispatcher& m_dispatcher;
    engine::Engine& m_engine;
    Faults& m_faults;
    std::shared_ptr<bool> m_isInitialized = std::make_shared<bool>(false);
};

}  // namespace

void addMethods(rpc::Dispatcher& dispatcher, engine::Engine& engine, Faults& faults) {
    using engine::Engine;
    using engine::JobContext;
    // Lives as long as the process: the handlers refer to it.
    static Methods methods(dispatcher, engine, faults);
    methods.addInitialize();
    methods.addUnload();
    methods.addShutdown();
    methods.add(method::kLoad, protocol::parseLoadParams,
                [](Engine& e, const protocol::LoadParams& p, const JobContext& job) { return e.load(p, job); });
    methods.add(method::kInspect, protocol::parseInspectParams,
                [](Engine& e, const protocol::InspectParams& p, const JobContext& job) { return e.inspect(p, job); });
    methods.add(method::kRun, protocol::parseCallParams,
                [](Engine& e, const protocol::CallParams& p, const JobContext& job) { return e.run(p, job); });
    methods.add(method::kValidate, protocol::parseValidateParams,
                [](Engine& e, const protocol::ValidateParams& p, const JobContext& job) { return e.validate(p, job); });
    methods.add(method::kGradients, protocol::parseCallParams,
                [](Engine& e, const protocol::CallParams& p, const JobContext& job) { return e.gradients(p, job); });
    methods.add(method::kBenchmark, protocol::parseBenchmarkParams,
                [](Engine& e, const protocol::BenchmarkParams& p, const JobContext& job) { return e.benchmark(p, job); });
    methods.add(method::kCalibrate, protocol::parseCalibrateParams,
                [](Engine& e, const protocol::CalibrateParams& p, const JobContext& job) { return e.calibrate(p, job); });
    methods.add(method::kProfile, protocol::parseProfileParams,
                [](Engine& e, const protocol::ProfileParams& p, const JobContext& job) { return e.profile(p, job); });
    methods.add(method::kMemory, protocol::parseMemoryParams,
                [](Engine& e, const protocol::MemoryParams& p, const JobContext& job) { return e.memory(p, job); });
}

}  // namespace modulelens::worker
