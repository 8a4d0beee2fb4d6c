// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
//
// A worker that does what a script says: `scripted-worker SCRIPT`, where SCRIPT is JSON text
//
//     {"METHOD": [[STEP, ...], ...]}
//
// with one list of steps for each call of the method; the last list serves all further calls. `initialize` and `shutdown`
// have answers of their own when the script does not name them. A STEP is an object with one of the keys
//
//     reply: RESULT            answers the request            error: {code, message}   answers with an error
//     progress: {stage, done, total}                          log: TEXT                sends $/log
//     stderr: TEXT             prints a line                  stdout: TEXT             prints raw bytes where messages go
//     crash: SIGNAL            dies by the signal             exit: CODE               ends
//     half: true               sends half a reply and ends    wait: FIFO               blocks until the pipe is written to
//     until_cancelled: true    answers Cancelled when asked   never: true              hangs, also when asked to stop
//
// and optionally `once: FILE`: the step is taken only if FILE does not exist, and creates it; so a restarted worker can
// behave otherwise.
#include "backend/protocol/ErrorTable.h"
#include "backend/protocol/WorkerMessages.h"
#include "backend/rpc/Framing.h"
#include "backend/rpc/Message.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

namespace {

using nlohmann::json;
using namespace modulelens;

void writeAll(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written <= 0) {
            std::_Exit(1);
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

class Worker {
public:
    explicit Worker(json script) : m_script(std::move(script)) {}

    int serve() {
        while (true) {
            const std::optional<rpc::Message> message = read();
            if (!message) {
                return 0;
            }
            if (const auto* request = std::get_if<rpc::Request>(&*message)) {
                answer(*request);
                if (request->method == protocol::method::kShutdown) {
                    return 0;
                }
            }
        }
    }

private:
    /// The next message; absent at the end of the stream.
    std::optional<rpc::Message> read() {
        while (true) {
            const base::Result<std::optional<std::string>> body = m_frames.next();
            if (!body) {
                std::fprintf(stderr, "scripted-worker: %s\n", body.error().message.c_str());
                std::_Exit(2);
            }
            if (*body) {
                base::Result<rpc::Message> message = rpc::parseMessage(**body);
                if (!message) {
                    std::_Exit(2);
                }
                return *std::move(message);
            }
            char buffer[65536];
            const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
            if (count <= 0) {
                return std::nullopt;
            }
            m_frames.append(std::string_view(buffer, static_cast<std::size_t>(count)));
        }
    }

    static void send(const rpc::Message& message) {
        writeAll(STDOUT_FILENO, rpc::frameMessage(rpc::serializeMessage(message)));
    }

    static void reply(std::int64_t id, json result) {
        rpc::Response response;
        response.id = id;
        response.result = std::move(result);
        send(response);
    }

    static void fail(std::int64_t id, int code, std::string message) {
        rpc::Response response;
        response.id = id;
        response.error = rpc::Response::ErrorObject{code, std::move(message), nullptr};
        send(response);
    }

    static json defaultResult(const std::string& method) {
        if (method != protocol::method::kInitialize) {
            return nullptr;
        }
        protocol::InitializeResult result;
        result.worker = "scripted-worker";
        result.engine = "program";
        result.torchVersion = "2.13.0+cpu";
        result.devices = {{"cpu", "a scripted processor", std::nullopt, ""}};
        return protocol::toJson(result);
    }

    void answer(const rpc::Request& request) {
        if (!m_script.contains(request.method)) {
            reply(request.id, defaultResult(request.method));
            return;
        }
        const json& calls = m_script[request.method];
        const std::size_t call = std::min(m_callCounts[request.method]++, calls.size() - 1);
        for (const json& step : calls[call]) {
            take(step, request);
        }
    }

    void take(const json& step, const rpc::Request& request) {
        if (step.contains("once")) {
            const std::filesystem::path marker = step["once"].get<std::string>();
            if (std::filesystem::exists(marker)) {
                return;
            }
            std::ofstream(marker).put('x');
        }
        if (step.contains("reply")) {
            reply(request.id, step["reply"]);
        } else if (step.contains("error")) {
            fail(request.id, step["error"]["code"].get<int>(), step["error"]["message"].get<std::string>());
        } else if (step.contains("progress")) {
            json params = step["progress"];
            params["request_id"] = request.id;
            send(rpc::Notification{protocol::method::kProgress, params});
        } else if (step.contains("log")) {
            send(rpc::Notification{protocol::method::kLog, {{"level", "info"}, {"text", step["log"]}}});
        } else if (step.contains("stderr")) {
            writeAll(STDERR_FILENO, step["stderr"].get<std::string>() + "\n");
        } else if (step.contains("stdout")) {
            writeAll(STDOUT_FILENO, step["stdout"].get<std::string>());
        } else if (step.contains("crash")) {
            std::signal(step["crash"].get<int>(), SIG_DFL);
            std::raise(step["crash"].get<int>());
        } else if (step.contains("exit")) {
            std::_Exit(step["exit"].get<int>());
        } else if (step.contains("half")) {
            const std::string framed = rpc::frameMessage(R"({"jsonrpc":"2.0","id":1,"result":null})");
            writeAll(STDOUT_FILENO, std::string_view(framed).substr(0, framed.size() / 2));
            std::_Exit(0);
        } else if (step.contains("wait")) {
            std::ifstream(step["wait"].get<std::string>()).get();
        } else if (step.contains("until_cancelled")) {
            waitForCancel(request.id);
        } else if (step.contains("never")) {
            while (true) {
                ::pause();
            }
        }
    }

    void waitForCancel(std::int64_t id) {
        while (const std::optional<rpc::Message> message = read()) {
            const auto* notification = std::get_if<rpc::Notification>(&*message);
            if (notification != nullptr && notification->method == protocol::method::kCancel &&
                notification->params.value("id", std::int64_t{-1}) == id) {
                fail(id, protocol::jsonRpcCode(base::ErrorCode::Cancelled), "stopped");
                return;
            }
        }
        std::_Exit(0);
    }

    json m_script;
    std::map<std::string, std::size_t> m_callCounts;
    rpc::FrameReader m_frames;
};

} // namespace

int main(int argc, char** argv) {
    const rlimit noCore{0, 0};
    ::setrlimit(RLIMIT_CORE, &noCore);
    json script = json::parse(argc > 1 ? argv[1] : "{}", nullptr, false);
    if (script.is_discarded()) {
        std::fprintf(stderr, "scripted-worker: the script is not JSON\n");
        return 2;
    }
    return Worker(std::move(script)).serve();
}
