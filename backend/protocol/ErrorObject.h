// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/base/Error.h"
#include "backend/rpc/Message.h"

namespace modulelens::protocol {

/// The wire form of an error: code by the table, message, and data {"name", "fix"}.
[[nodiscard]] rpc::Response::ErrorObject toErrorObject(const base::Error& error);

/// The error that a peer sent. An unknown code becomes Internal, the message is kept.
[[nodiscard]] base::Error fromErrorObject(const rpc::Response::ErrorObject& object);

} // namespace modulelens::protocol
