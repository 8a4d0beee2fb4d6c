// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/registry/VersionAddress.h"

#include "backend/base/PercentEncoding.h"
#include "backend/registry/TextPosition.h"

#include <algorithm>
#include <charconv>

namespace modulelens::registry {

namespace {

constexpr std::string_view kForm =
    "An address is MODEL::MODULE, MODEL::MODULE@vN or MODEL::MODULE@ALIAS; write % : and @ inside "
    "names as %25, %3A and %40.";

int hexValue(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Decodes text[begin, end); errors point into `text`.
base::Result<std::string> decodePart(std::string_view text, std::size_t begin, std::size_t end) {
    std::string decoded;
    for (std::size_t i = begin; i < end; ++i) {
        if (text[i] != '%') {
            decoded += text[i];
            continue;
        }
        const int high = i + 1 < end ? hexValue(text[i + 1]) : -1;
        const int low = i + 2 < end ? hexValue(text[i + 2]) : -1;
        if (high < 0 || low < 0) {
            return errorAt(text, i, "The address has a '%' that two hexadecimal digits must follow", std::string(kForm));
        }
        decoded += static_cast<char>(high * 16 + low);
        if (decoded.back() == '\0') {
            return errorAt(text, i, "The address has a NUL character, which no name may hold", std::string(kForm));
        }
        i += 2;
    }
    return decoded;
}

std::string encodePart(std::string_view name) {
    std::string encoded;
    for (const char c : name) {
        if (c == '%') {
            encoded += "%25";
        } else if (c == ':') {
            encoded += "%3A";
        } else if (c == '@') {
            encoded += "%40";
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
            // So that an address is one line of printable text.
            static constexpr std::string_view kDigits = "0123456789ABCDEF";
            encoded += {'%', kDigits[static_cast<unsigned char>(c) >> 4], kDigits[static_cast<unsigned char>(c) & 15]};
        } else {
            encoded += c;
        }
    }
    return encoded;
}

/// The N of "vN"; nothing when the text has another form, -1 when N is too large.
std::optional<int> versionNumber(std::string_view selector) {
    if (selector.size() < 2 || selector[0] != 'v' ||
        !std::all_of(selector.begin() + 1, selector.end(), [](char c) { return c >= '0' && c <= '9'; })) {
        return std::nullopt;
    }
    int number = 0;
    const auto [end, error] = std::from_chars(selector.data() + 1, selector.data() + selector.size(), number);
    return error == std::errc() ? number : -1;
}

}  // namespace

base::Result<VersionAddress> parseVersionAddress(std::string_view text) {
    const std::string form(kForm);
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
        return errorAt(text, nul, "The address has a NUL character, which no name may hold", form);
    }
    const std::size_t colons = text.find("::");
    if (colons == std::string_view::npos) {
        return errorAt(text, text.size(), "The address has no '::' between model and module", form);
    }
    if (const std::size_t second = text.find("::", colons + 1); second != std::string_view::npos) {
        return errorAt(text, second, "The address has a second '::'", form);
    }
    const std::size_t at = text.find('@');
    if (at != std::string_view::npos) {
        if (const std::size_t second = text.find('@', at + 1); second != std::string_view::npos) {
            return errorAt(text, second, "The address has a second '@'", form);
        }
        if (at < colons) {
            return errorAt(text, at, "The address has an '@' before its '::'", form);
        }
    }
    if (colons == 0) {
        return errorAt(text, 0, "The address has no model name", form);
    }
    const std::size_t moduleEnd = std::min(at, text.size());
    VersionAddress address;
    base::Result<std::string> model = decodePart(text, 0, colons);
    if (!model) {
        return model.error();
    }
    base::Result<std::string> module = decodePart(text, colons + 2, moduleEnd);
    if (!module) {
        return module.error();
    }
    address.model = std::move(*model);
    address.module = std::move(*module);
    if (at == std::string_view::npos) {
        address.alias = "latest";
        return address;
    }
    base::Result<std::string> selector = decodePart(text, at + 1, text.size());
    if (!selector) {
        return selector.error();
    }
    if (selector->empty()) {
        return errorAt(text, text.size(), "The address has nothing after its '@'", form);
    }
    address.number = versionNumber(*selector);
    if (!address.number) {
        address.alias = std::move(*selector);
    } else if (*address.number < 0) {
        return errorAt(text, at + 1, "The address has a version number that is too large", form);
    }
    return address;
}

std::string formatVersionAddress(std::string_view model, std::string_view module, int number) {
    return encodePart(model) + "::" + encodePart(module) + "@v" + std::to_string(number);
}

bool isReservedAlias(std::string_view alias) {
    return alias == "latest" || versionNumber(alias).has_value();
}

bool isVersionId(std::string_view text) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '=';
    };
    return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), allowed);
}

std::string formatDeepLink(const std::string& address, const std::string& view) {
    std::string link = "modulelens:open?version=" + base::percentEncoded(address);
    if (!view.empty()) {
        link += "&view=" + base::percentEncoded(view);
    }
    return link;
}

}  // namespace modulelens::registry
