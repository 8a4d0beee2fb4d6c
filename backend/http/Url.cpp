// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/http/Url.h"

#include <curl/curl.h>
#include <algorithm>
#include <charconv>
#include <memory>

namespace modulelens::http {

namespace {

struct UrlDeleter {
    void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using CurlUrl = std::unique_ptr<CURLU, UrlDeleter>;

std::string part(const CurlUrl& url, CURLUPart which, unsigned flags = 0) {
    char* text = nullptr;
    if (curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) {
        return {};
    }
    std::string result(text);
    curl_free(text);
    return result;
}

base::Error unfit(const std::string& text, const std::string& reason) {
    return {base::ErrorCode::InvalidArgument, "'" + text.substr(0, 200) + "' is no URL that can be used: " + reason + ".",
            "Give an address such as https://api.wandb.ai."};
}

}  // namespace

std::string Url::hostAndPort() const {
    const int usual = scheme == "https" ? 443 : 80;
    return port == usual ? host : host + ":" + std::to_string(port);
}

base::Result<Url> parseUrl(const std::string& text) {
    if (text.find('\0') != std::string::npos) {
        return unfit(text, "it holds a NUL");
    }
    const CurlUrl parsed(curl_url());
    if (!parsed) {
        return base::Error{base::ErrorCode::OutOfMemory, "No memory to read a URL.", ""};
    }
    if (curl_url_set(parsed.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) {
        return unfit(text, "it is not well formed");
    }
    Url url;
    url.scheme = part(parsed, CURLUPART_SCHEME);
    if (url.scheme != "http" && url.scheme != "https") {
        return unfit(text, "it does not begin with http:// or https://");
    }
    if (!part(parsed, CURLUPART_USER).empty() || !part(parsed, CURLUPART_PASSWORD).empty()) {
        return base::Error{base::ErrorCode::InvalidArgument, "A URL with a user name or password in it is not used.",
                           "Put the key into WANDB_API_KEY or a netrc file."};
    }
    url.host = part(parsed, CURLUPART_HOST);
    std::transform(url.host.begin(), url.host.end(), url.host.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (url.host.size() > 2 && url.host.front() == '[') {
        url.host = url.host.substr(1, url.host.size() - 2);
    }
    const std::string port = part(parsed, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (url.host.empty() || error != std::errc() || end != port.data() + port.size() || url.port <= 0 || url.port > 65535) {
        return unfit(text, "its host or port is missing");
    }
    url.path = part(parsed, CURLUPART_PATH);
    return url;
}

bool isBelow(const Url& url, const Url& base) {
    if (url.scheme != base.scheme || url.host != base.host || url.port != base.port) {
        return false;
    }
    std::string folder = base.path;
    if (folder.empty() || folder.back() != '/') {
        folder += '/';
    }
    return url.path.starts_with(folder) || url.path + "/" == folder;
}

base::Result<std::string> resolveUrl(const std::string& base, const std::string& reference) {
    const CurlUrl parsed(curl_url());
    if (!parsed || curl_url_set(parsed.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK ||
        curl_url_set(parsed.get(), CURLUPART_URL, reference.c_str(), 0) != CURLUE_OK) {
        return unfit(reference, "it is not well formed");
    }
    std::string text = part(parsed, CURLUPART_URL);
    const base::Result<Url> checked = parseUrl(text);
    if (!checked) {
        return checked.error();
    }
    return text;
}

}  // namespace modulelens::http
