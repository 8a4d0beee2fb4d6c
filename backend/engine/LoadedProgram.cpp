// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/engine/LoadedProgram.h"

#include "backend/capture/TensorReading.h"
#include "backend/engine/Consent.h"
#include "backend/engine/ForeignProgram.h"
#include "backend/graph/ProgramArchive.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace modulelens::engine {

namespace {

// The device type that most of the state was on when it was captured.
c10::DeviceType capturedDevice(const std::map<std::string, capture::StateTensor>& tensors) {
    for (const auto& [name, tensor] : tensors) {
        const c10::DeviceType type = c10::Device(tensor.tensor.device).type();
        if (type != c10::DeviceType::CPU && type != c10::DeviceType::Meta) {
            return type;
        }
    }
    return c10::DeviceType::CPU;
}

std::vector<std::int64_t> literals(const std::vector<graph::SymbolicInteger>& sizes, const std::string& name) {
    std::vector<std::int64_t> values;
    for (const graph::SymbolicInteger& size : sizes) {
        if (!size.literal) {
            throw Failure({base::ErrorCode::Corrupt, "the constant '" + name + "' of the program has no fixed size", ""});
        }
        values.push_back(*size.literal);
    }
    return values;
}

}  // namespace

base::Result<c10::Device> findDevice(const std::string& name) {
    const base::Error missing{base::ErrorCode::EnvironmentMissing, "there is no device '" + name + "' here",
                              "Choose one of the devices that the worker lists."};
    try {
        const c10::Device device(name);
        if (device.is_cpu()) {
            return c10::Device(c10::DeviceType::CPU);
        }
        if (!c10::impl::hasDeviceGuardImpl(device.type())) {
            return missing;
        }
        const c10::impl::VirtualGuardImpl guard(device.type());
        const auto index = device.has_index() ? device.index() : c10::DeviceIndex{0};
        if (index < 0 || index >= guard.deviceCount()) {
            return missing;
        }
        return c10::Device(device.type(), index);
    } catch (const std::exception&) {
        return missing;
    }
}

LoadedProgram::LoadedProgram() = default;
LoadedProgram::~LoadedProgram() = default;

base::Result<std::unique_ptr<LoadedProgram>> LoadedProgram::load(const protocol::LoadParams& params,
                                                                 const std::stop_token& stop) {
    std::unique_ptr<LoadedProgram> loaded(new LoadedProgram);
    const auto device = findDevice(params.device);
    if (!device) {
        return device.error();
    }
    auto state = capture::parseStateTensors(params.state);
    if (!state) {
        return state.error();
    }
    loaded->m_name = params.name;
    loaded->m_digest = params.program.digest;
    loaded->m_stateTensors = std::move(state).value();
    if (auto libraries = loadOperatorLibraries(params.libraries, params.consent); !libraries) {
        return libraries.error();
    }
    if (params.format != protocol::program_format::kExported) {
        loaded->m_devices = {capturedDevice(loaded->m_stateTensors), device.value()};
        return loadForeign(params, std::move(loaded), stop);
    }
    return torchGuarded(params.name, [&]() -> base::Result<std::unique_ptr<LoadedProgram>> {
        loaded->m_devices = {capturedDevice(loaded->m_stateTensors), device.value()};
        auto file = base::realFileSystem().map(params.program.file);
        if (!file) {
            return file.error();
        }
        auto slice = base::sliceOf(std::move(file).value(), params.program.offset, params.program.length);
        if (!slice) {
            return slice.error().within("the program of " + params.name);
        }
        loaded->m_archive = std::move(slice).value();
        auto archive = graph::readProgramArchive(loaded->m_archive, "the program of " + params.name);
        if (!archive) {
            return archive.error();
        }
        auto plan = makePlan(archive.value().program, loaded->m_devices);
        if (!plan) {
            return plan.error();
        }
        loaded->m_plan = std::move(plan).value();
        for (const auto& [name, constant] : archive.value().constants) {
            loaded->addConstant(name, constant);
        }
        for (auto& [name, tensor] : loaded->m_stateTensors) {
            tensor.tensor.isParameter = !tensor.isBuffer;
            const auto standIn = archive.value().weights.find(name);
            if (standIn != archive.value().weights.end() && !tensor.isBuffer) {
                tensor.tensor.requiresGrad = standIn->second.requiresGrad;
            }
        }
        if (auto made = loaded->makeState(params, stop); !made) {
            return made.error();
        }
        return std::move(loaded);
    });
}

base::Result<std::unique_ptr<LoadedProgram>> LoadedProgram::loadForeign(const protocol::LoadParams& params,
                                                                        std::unique_ptr<LoadedProgram> loaded,
                                                                        const std::stop_token& stop) {
    const auto file = openWithConsent(params.program.file, params.program.offset, params.program.length, params.program.digest,
                                      params.consent, params.name);
    if (!file) {
        return file.error();
    }
    const bool isScript = params.format == protocol::program_format::kTorchScript;
    if (!isScript && params.format != protocol::program_format::kAotInductor) {
        return base::Error{base::ErrorCode::InvalidArgument, "there is no program format '" + params.format + "'", ""};
    }
    auto program = isScript ? loadScript(file.value(), params.name, loaded->m_devices.to)
                            : loadPackage(params.program.file, params.name, loaded->m_devices.to);
    if (!program) {
        return program.error();
    }
    loaded->m_foreign = std::move(program).value();
    loaded->m_plan = loaded->m_foreign->plan();
    return torchGuarded(params.name, [&]() -> base::Result<std::unique_ptr<LoadedProgram>> {
        if (auto added = loaded->m_store.add(params.tensors); !added) {
            return added.error();
        }
        std::map<std::string, capture::TensorReference> references;
        std::vector<std::string> wanted;
        for (auto& [name, tensor] : loaded->m_stateTensors) {
            tensor.tensor.isParameter = !tensor.isBuffer;
            if (!tensor.tensor.digest.empty()) {
                references.emplace(name, tensor.tensor);
                wanted.push_back(name);
            }
        }
        if (auto built = loaded->m_state.build(references, wanted, loaded->m_store, loaded->m_devices, stop); !built) {
            return built.error();
        }
        loaded->m_foreign->adopt(loaded->m_state);
        return std::move(loaded);
    });
}

void LoadedProgram::prepare(const std::vector<c10::IValue>& inputs, const std::atomic<bool>& stop) {
    if (m_foreign != nullptr) {
        m_foreign->prepare(inputs, stop);
        m_plan = m_foreign->plan();
    }
}

base::Result<void> LoadedProgram::makeState(const protocol::LoadParams& params, const std::stop_token& stop) {
    if (auto added = m_store.add(params.tensors); !added) {
        return added.error();
    }
    std::map<std::string, capture::TensorReference> references;
    for (const auto& [name, tensor] : m_stateTensors) {
        references.emplace(name, tensor.tensor);
    }
    std::vector<std::string> wanted;
    for (const graph::InputSpec& spec : program().inputs) {
        if (spec.kind == graph::InputKind::Parameter ||
            (spec.kind == graph::InputKind::Buffer && references.count(spec.target) != 0)) {
            wanted.push_back(spec.target);
        }
    }
    return m_state.build(references, wanted, m_store, m_devices, stop);
}

void LoadedProgram::addConstant(const std::string& name, const graph::ArchivedTensor& constant) {
    const at::NoGradGuard noGrad;
    const auto bytes = m_archive->bytes();
    const c10::ScalarType type = torchType(constant.meta.dtype);
    const std::vector<std::int64_t> sizes = literals(constant.meta.sizes, name);
    const std::vector<std::int64_t> strides = literals(constant.meta.strides, name);
    if (constant.offset > bytes.size() || constant.sizeBytes > bytes.size() - constant.offset) {
        throw Failure({base::ErrorCode::Corrupt, "the constant '" + name + "' leaves the program's file", ""});
    }
    const auto pristine = bytes.subspan(constant.offset, constant.sizeBytes);
    const at::Tensor storage = at::empty({static_cast<std::int64_t>(pristine.size())}, at::TensorOptions().dtype(at::kByte));
    std::memcpy(storage.mutable_data_ptr(), pristine.data(), pristine.size());
    const at::Tensor placed = storage.to(m_devices(c10::Device(constant.meta.device).type()));
    at::Tensor tensor = at::empty({0}, placed.options().dtype(type));
    tensor.set_(placed.storage(), constant.meta.storageOffset, sizes, strides);
    m_constants[name] = {tensor, pristine};
}

at::Tensor LoadedProgram::inputTensor(const graph::InputSpec& spec) const {
    if (const Leaf* leaf = m_state.find(spec.target)) {
        return leaf->tensor;
    }
    const auto constant = m_constants.find(spec.target);
    return constant == m_constants.end() ? at::Tensor() : constant->second.tensor;
}

void LoadedProgram::restoreConstants() {
    const at::NoGradGuard noGrad;
    if (m_foreign != nullptr) {
        m_foreign->restore();
    }
    for (auto& [name, constant] : m_constants) {
        if (constant.tensor._version() > 0) {
            const at::Tensor source =
                at::from_blob(const_cast<std::byte*>(constant.pristine.data()),
                              {static_cast<std::int64_t>(constant.pristine.size())}, at::TensorOptions().dtype(at::kByte));
            at::Tensor bytes = at::empty({0}, constant.tensor.options().dtype(at::kByte));
            bytes.set_(constant.tensor.storage());
            bytes.copy_(source);
        }
    }
}

}  // namespace modulelens::engine
