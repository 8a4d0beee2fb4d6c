// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/capture/JsonView.h"
#include "backend/wandb/Service.h"

namespace modulelens::wandb {

/// What the server's answers hold, as rows. All throw capture::DocumentError (Corrupt) for another form.
[[nodiscard]] VersionRow readVersionRow(const capture::JsonView& membership);
[[nodiscard]] CollectionRow readCollectionRow(const capture::JsonView& collection);

/// Members of a membership and of a collection that a query has to select. `withAlgorithm`: the server knows digestAlgorithm.
[[nodiscard]] std::string membershipFields(bool withAlgorithm);
[[nodiscard]] std::string collectionFields();

}  // namespace modulelens::wandb
