// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#pragma once

#include "backend/capture/TensorReference.h"
#include "backend/engine/TensorStore.h"
#include "backend/engine/TorchTypes.h"

#include <ATen/core/Tensor.h>
#include <deque>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

namespace modulelens::engine {

/// A captured tensor made anew: what a program reads, and may write to.
struct Leaf {
    std::string name;                     ///< FQN or JSON Pointer of the first reference to it.
    capture::TensorReference reference;
    StoredData data;
    at::Tensor tensor;
    std::uint32_t version = 0;            ///< Of the tensor's counter when it last held its pristine content.
    bool isMutated = false;               ///< A run changed it.
};

/// A tensor of the stored shape over `bytes`, row-major, without a copy. The caller keeps the bytes alive.
[[nodiscard]] at::Tensor viewOfStored(const capture::TensorReference& reference, const std::byte* bytes);

/// Copies the stored data of `reference` into `target`, a tensor of its shape.
void assign(const at::Tensor& target, const capture::TensorReference& reference, const std::byte* stored);

/// True when the tensor's content has the bits of the stored data.
[[nodiscard]] bool holdsStored(const at::Tensor& tensor, const capture::TensorReference& reference, const std::byte* stored);

/// The tensors of one state or of one call's inputs. References with one object number become one tensor, references with
/// one storage number share memory; tensors lie at the captured offset modulo 64 bytes, since kernels round differently on
/// other alignments. Confined to its thread.
class Leaves {
public:
    /// `references` by name; those that share storage must all be given here. `wanted` names those to be made.
    /// NotFound, Corrupt from the store, naming the tensor; Cancelled between two of them.
    [[nodiscard]] base::Result<void> build(const std::map<std::string, capture::TensorReference>& references,
                                           const std::vector<std::string>& wanted, const TensorStore& store,
                                           const DeviceMap& devices, const std::stop_token& stop = {});

    /// Null when `name` was not wanted.
    [[nodiscard]] Leaf* find(const std::string& name) const;
    [[nodiscard]] std::deque<Leaf>& all() { return m_leaves; }
    /// What could not be rebuilt as captured, one sentence each.
    [[nodiscard]] const std::vector<std::string>& warnings() const { return m_warnings; }

    /// Marks leaves that the last run changed. With `checkBytes` also buffers and inputs whose version counter stood still,
    /// since batch normalisation writes its statistics without counting.
    void detectMutations(bool checkBytes);
    /// Gives marked leaves their pristine content.
    void restoreMutated();

private:
    struct Group;
    void buildGroup(const Group& group, const DeviceMap& devices);
    Leaf& addLeaf(const std::string& name, const capture::TensorReference& reference, StoredData data);

    std::deque<Leaf> m_leaves;
    std::map<std::string, Leaf*> m_byName;
    std::vector<std::string> m_warnings;
};

}  // namespace modulelens::engine
