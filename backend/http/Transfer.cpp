// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/http/Transfer.h"

#include "backend/http/Url.h"

#include <curl/curl.h>
#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>

namespace modulelens::http {

namespace {

/// Answers that are no success are small; more of them is not kept.
constexpr std::size_t kErrorBodyBytes = 64 << 10;

struct ListDeleter {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

/// What the callbacks of one transfer share.
struct TransferState {
    const Request& request;
    CURL* easy;
    std::stop_token stop;
    ResponseHead head;
    std::string body;
    std::size_t sent = 0;
    bool headDone = false;
    bool bodyTaken = false;
    std::optional<base::Error> error;    ///< Of a callback; ends the transfer.
};

std::string trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) {
        return {};
    }
    return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

std::size_t takeHeader(char* data, std::size_t size, std::size_t count, void* pointer) {
    auto& state = *static_cast<TransferState*>(pointer);
    const std::string_view line(data, size * count);
    if (line.starts_with("HTTP/")) {
        state.head = {};                 // A new answer, after "100 Continue" for instance.
        return line.size();
    }
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && state.head.headers.size() < 200) {
        Header header{trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1))};
        std::transform(header.name.begin(), header.name.end(), header.name.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
        state.head.headers.push_back(std::move(header));
    }
    return line.size();
}

/// Reads the status and asks onHead, once. False: the transfer ends.
bool finishHead(TransferState& state) {
    if (state.headDone) {
        return true;
    }
    state.headDone = true;
    long status = 0;
    curl_easy_getinfo(state.easy, CURLINFO_RESPONSE_CODE, &status);
    state.head.status = static_cast<int>(status);
    if (isSuccess(state.head.status) && state.request.onHead) {
        if (auto accepted = state.request.onHead(state.head); !accepted) {
            state.error = accepted.error();
            return false;
        }
    }
    return true;
}

bool takePiece(TransferState& state, std::span<const std::byte> bytes) {
    if (!finishHead(state)) {
        return false;
    }
    if (!isSuccess(state.head.status)) {
        const std::size_t room = kErrorBodyBytes - std::min(kErrorBodyBytes, state.body.size());
        state.body.append(reinterpret_cast<const char*>(bytes.data()), std::min(room, bytes.size()));
        return true;
    }
    if (state.request.onBody) {
        state.bodyTaken = true;
        if (auto taken = state.request.onBody(bytes); !taken) {
            state.error = taken.error();
            return false;
        }
        return true;
    }
    if (bytes.size() >
        state.request.bodyLimitBytes - std::min<std::uint64_t>(state.request.bodyLimitBytes, state.body.size())) {
        state.error = base::Error{base::ErrorCode::Corrupt,
                                  "The answer of " + withoutQuery(state.request.url) + " is larger than " +
                                      std::to_string(state.request.bodyLimitBytes) + " bytes, the most that is read here.",
                                  ""};
        return false;
    }
    state.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
}

/// Exceptions of callers' functions and of allocation end the transfer and never pass through libcurl.
template <class Body>
auto contained(TransferState& state, Body&& body, decltype(body()) failed) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        state.error = base::Error{base::ErrorCode::OutOfMemory, "No memory for a transfer.", ""};
    } catch (const std::exception& exception) {
        state.error = base::Error{base::ErrorCode::Internal, std::string("During a transfer: ") + exception.what(), ""};
    } catch (...) {
        state.error = base::Error{base::ErrorCode::Internal, "During a transfer: an unknown exception.", ""};
    }
    return failed;
}

std::size_t onHeaderLine(char* data, std::size_t size, std::size_t count, void* pointer) {
    return contained(
        *static_cast<TransferState*>(pointer), [&] { return takeHeader(data, size, count, pointer); }, std::size_t{0});
}

std::size_t onBodyBytes(char* data, std::size_t size, std::size_t count, void* pointer) {
    auto& state = *static_cast<TransferState*>(pointer);
    const std::size_t total = size * count;
    const auto take = [&] { return takePiece(state, std::as_bytes(std::span(data, total))) ? total : std::size_t{0}; };
    // libcurl takes any other number than `total` for a failure; an empty piece is never sent.
    return contained(state, take, std::size_t{0});
}

/// Bytes of the request's body from `offset` on, as far as they lie together; empty at the end.
std::span<const std::byte> bodyFrom(const Request& request, std::size_t offset) {
    if (offset < request.body.size()) {
        return request.body.subspan(offset);
    }
    offset -= request.body.size();
    for (const std::span<const std::byte> piece : request.bodyPieces) {
        if (offset < piece.size()) {
            return piece.subspan(offset);
        }
        offset -= piece.size();
    }
    return {};
}

std::size_t bodySize(const Request& request) {
    std::size_t size = request.body.size();
    for (const std::span<const std::byte> piece : request.bodyPieces) {
        size += piece.size();
    }
    return size;
}

std::size_t onSend(char* buffer, std::size_t size, std::size_t count, void* pointer) {
    auto& state = *static_cast<TransferState*>(pointer);
    std::size_t filled = 0;
    while (filled < size * count) {
        const std::span<const std::byte> bytes = bodyFrom(state.request, state.sent);
        const std::size_t piece = std::min(size * count - filled, bytes.size());
        if (piece == 0) {
            break;
        }
        std::memcpy(buffer + filled, bytes.data(), piece);
        filled += piece;
        state.sent += piece;
    }
    return filled;
}

int onSeek(void* pointer, curl_off_t offset, int origin) {
    auto& state = *static_cast<TransferState*>(pointer);
    if (origin != SEEK_SET || offset < 0 || static_cast<std::uint64_t>(offset) > bodySize(state.request)) {
        return CURL_SEEKFUNC_FAIL;
    }
    state.sent = static_cast<std::size_t>(offset);
    return CURL_SEEKFUNC_OK;
}

int onProgress(void* pointer, curl_off_t downloadTotal, curl_off_t downloaded, curl_off_t uploadTotal, curl_off_t uploaded) {
    auto& state = *static_cast<TransferState*>(pointer);
    if (state.stop.stop_requested()) {
        return 1;
    }
    if (state.request.progress) {
        const bool isUpload = uploadTotal > downloadTotal;
        return contained(
            state,
            [&] {
                state.request.progress(static_cast<std::uint64_t>(isUpload ? uploaded : downloaded),
                                       static_cast<std::uint64_t>(isUpload ? uploadTotal : downloadTotal));
                return 0;
            },
            1);
    }
    return 0;
}

base::Error transferError(CURLcode code, const std::string& url, const char* detail) {
    const std::string where = withoutQuery(url);
    const std::string what = *detail != '\0' ? detail : curl_easy_strerror(code);
    switch (code) {
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_SSL_ISSUER_ERROR:
            return {base::ErrorCode::Unavailable, "The secure connection to " + where + " was refused: " + what + ".",
                    "If the server or a proxy has a certificate of its own, name its CA file: SSL_CERT_FILE."};
        case CURLE_SSL_CACERT_BADFILE:
            return {base::ErrorCode::InvalidArgument, "The CA file cannot be read: " + what + ".", "Check SSL_CERT_FILE."};
        case CURLE_OPERATION_TIMEDOUT:
            return {base::ErrorCode::Timeout, where + " did not answer in time: " + what + ".", ""};
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_COULDNT_CONNECT:
            return {base::ErrorCode::Unavailable, "No connection to " + where + ": " + what + ".",
                    "Check the network, the base URL and the proxy settings."};
        case CURLE_OUT_OF_MEMORY:
            return {base::ErrorCode::OutOfMemory, "No memory for a transfer.", ""};
        default:
            return {base::ErrorCode::Unavailable, "The connection to " + where + " broke: " + what + ".", ""};
    }
}

bool isOfTheNetwork(CURLcode code) {
    return code != CURLE_PEER_FAILED_VERIFICATION && code != CURLE_SSL_CACERT_BADFILE && code != CURLE_SSL_ISSUER_ERROR &&
           code != CURLE_OUT_OF_MEMORY && code != CURLE_URL_MALFORMAT && code != CURLE_UNSUPPORTED_PROTOCOL;
}

void startLibrary() {
    static std::once_flag started;
    std::call_once(started, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

}  // namespace

std::string withoutQuery(const std::string& url) {
    return url.substr(0, url.find_first_of("?#")).substr(0, 300);
}

struct Connection::Handles {
    CURL* easy = nullptr;
    CURLM* multi = nullptr;
};

Connection::Connection() : m_handles(std::make_unique<Handles>()) {
    startLibrary();
    m_handles->easy = curl_easy_init();
    m_handles->multi = curl_multi_init();
}

Connection::~Connection() {
    curl_easy_cleanup(m_handles->easy);
    curl_multi_cleanup(m_handles->multi);
}

namespace {

void setUp(CURL* easy, TransferState& state, const std::string& url, bool withCredentials, const ClientSettings& settings,
           char* errorText) {
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, errorText);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, settings.userAgent.c_str());
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(settings.connectTimeout.count()));
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
                     static_cast<long>(std::max<std::int64_t>(1, settings.stallTimeout.count() / 1000)));
    if (!settings.caFile.empty()) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, settings.caFile.c_str());
    }
    if (withCredentials) {
        curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        curl_easy_setopt(easy, CURLOPT_USERNAME, settings.credentials.user.c_str());
        curl_easy_setopt(easy, CURLOPT_PASSWORD, settings.credentials.password.c_str());
    }
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &onHeaderLine);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &state);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &onBodyBytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &state);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, &onProgress);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &state);
    const auto length = static_cast<curl_off_t>(bodySize(state.request));
    if (state.request.method == Method::Post) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, length);
    } else if (state.request.method == Method::Put) {
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, length);
    }
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, &onSend);
    curl_easy_setopt(easy, CURLOPT_READDATA, &state);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, &onSeek);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, &state);
}

base::Result<std::unique_ptr<curl_slist, ListDeleter>> headerList(const Request& request) {
    std::unique_ptr<curl_slist, ListDeleter> list(curl_slist_append(nullptr, "Expect:"));
    for (const Header& header : request.headers) {
        if ((header.name + header.value).find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
            return base::Error{base::ErrorCode::Corrupt, "A header for " + withoutQuery(request.url) + " holds a line break.",
                               ""};
        }
        // libcurl drops "Name:" and sends an empty header for "Name;".
        const std::string line = header.value.empty() ? header.name + ";" : header.name + ": " + header.value;
        curl_slist* longer = curl_slist_append(list.get(), line.c_str());
        if (longer == nullptr) {
            return base::Error{base::ErrorCode::OutOfMemory, "No memory for a transfer.", ""};
        }
        [[maybe_unused]] const curl_slist* kept = list.release();
        list.reset(longer);
    }
    return list;
}

/// Runs the transfer to its end; a stop wakes it up.
CURLcode perform(CURL* easy, CURLM* multi, const std::stop_token& stop) {
    curl_multi_add_handle(multi, easy);
    const std::stop_callback wake(stop, [multi] { curl_multi_wakeup(multi); });
    CURLcode code = CURLE_OK;
    int running = 1;
    while (running > 0) {
        if (curl_multi_perform(multi, &running) != CURLM_OK) {
            code = CURLE_OUT_OF_MEMORY;
            break;
        }
        if (stop.stop_requested()) {
            code = CURLE_ABORTED_BY_CALLBACK;
            break;
        }
        if (running > 0) {
            curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
        }
    }
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
        if (message->msg == CURLMSG_DONE && code == CURLE_OK) {
            code = message->data.result;
        }
    }
    curl_multi_remove_handle(multi, easy);
    return code;
}

}  // namespace

Attempt Connection::send(const Request& request, const std::string& url, bool withCredentials, const ClientSettings& settings,
                         std::stop_token stop) {
    Attempt attempt;
    if (m_handles->easy == nullptr || m_handles->multi == nullptr) {
        attempt.error = base::Error{base::ErrorCode::OutOfMemory, "No memory for a connection.", ""};
        return attempt;
    }
    auto list = headerList(request);
    if (!list) {
        attempt.error = list.error();
        return attempt;
    }
    TransferState state{request, m_handles->easy, stop, {}, {}, 0, false, false, {}};
    char errorText[CURL_ERROR_SIZE] = {};
    setUp(m_handles->easy, state, url, withCredentials, settings, errorText);
    curl_easy_setopt(m_handles->easy, CURLOPT_HTTPHEADER, list->get());
    const CURLcode code = perform(m_handles->easy, m_handles->multi, stop);
    if (code == CURLE_OK && !state.error && finishHead(state)) {
        attempt.response = {state.head.status, std::move(state.head.headers), std::move(state.body)};
        return attempt;
    }
    if (state.error) {
        attempt.error = state.error;
    } else if (stop.stop_requested()) {
        attempt.error = base::Error{base::ErrorCode::Cancelled, "Stopped while waiting for " + withoutQuery(url) + ".", ""};
    } else {
        attempt.error = transferError(code, url, errorText);
        attempt.isWorthRetrying = isOfTheNetwork(code) && !state.bodyTaken;
    }
    return attempt;
}

}  // namespace modulelens::http
