// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/ErrorObject.h"

#include "backend/protocol/ErrorTable.h"

namespace modulelens::protocol {

rpc::Response::ErrorObject toErrorObject(const base::Error& error) {
    nlohmann::json data = {{"name", base::errorCodeName(error.code)}};
    if (!error.fix.empty()) {
        data["fix"] = error.fix;
    }
    return {jsonRpcCode(error.code), error.message, std::move(data)};
}

base::Error fromErrorObject(const rpc::Response::ErrorObject& object) {
    base::Error error{errorCodeFromJsonRpc(object.code), object.message, {}};
    if (object.data.is_object()) {
        if (const auto fix = object.data.find("fix"); fix != object.data.end() && fix->is_string()) {
            error.fix = fix->get<std::string>();
        }
    }
    return error;
}

} // namespace modulelens::protocol
