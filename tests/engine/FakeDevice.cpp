// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "tests/support/FakeDevice.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Functions.h>
#include <ATen/core/GraphImplInterface.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace modulelens::test::fakedevice {

namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;
const c10::Device kDevice(kType, 0);
constexpr auto kAggregate = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

struct State {
    std::atomic<std::int64_t> launches{0};
    std::atomic<std::int64_t> copiesIn{0};
    std::atomic<std::int64_t> copiesOut{0};
    std::atomic<std::int64_t> events{0};
    std::atomic<std::int64_t> recorded{0};
    std::atomic<std::int64_t> replays{0};
    std::atomic<int> eventPercent{100};
    std::atomic<std::int64_t> capacity{std::numeric_limits<std::int64_t>::max()};
    std::atomic<std::int64_t> lostAt{-1};

    State() {
        if (const char* text = std::getenv("MODULELENS_FAKE_DEVICE")) {
            char* end = nullptr;
            capacity = std::strtoll(text, &end, 10);
            if (*end == ',') {
                lostAt = std::strtoll(end + 1, &end, 10);
            }
            if (*end == ',') {
                eventPercent = static_cast<int>(std::strtol(end + 1, nullptr, 10));
            }
        }
    }
};

State& state() {
    // Never destroyed: tensors may outlive main().
    static auto* instance = new State;
    return *instance;
}

/// What a lost device answers to everything.
void checkAlive() {
    constexpr int kIllegalAccess = 700;
    const std::int64_t lostAt = state().lostAt;
    if (lostAt >= 0 && state().launches >= lostAt) {
        throw c10::AcceleratorError({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, kIllegalAccess,
                                    "fake device: an illegal memory access was encountered");
    }
}

void launch() {
    checkAlive();
    ++state().launches;
    checkAlive();
}

/// One operator of a graph: what it was given, and where its results lie.
struct Recorded {
    c10::OperatorHandle operation;
    torch::jit::Stack arguments;
    torch::jit::Stack results;
};

/// Where this thread's operators go instead of being run; null: they are run.
thread_local std::vector<Recorded>* threadRecording = nullptr;
thread_local c10::StreamId threadStream = 0;

/// What the host would wait for has no place in a graph.
void checkNotRecording() {
    TORCH_CHECK(threadRecording == nullptr, "fake device: operation not permitted when stream is capturing");
}

class Allocator : public c10::DeviceAllocator {
public:
    c10::DataPtr allocate(std::size_t sizeBytes) override {
        checkAlive();
        if (sizeBytes == 0) {
            return {nullptr, nullptr, &release, kDevice};
        }
        const std::lock_guard lock(m_mutex);
        auto& allocated = m_stats.allocated_bytes[kAggregate];
        TORCH_CHECK_WITH(OutOfMemoryError, allocated.current + static_cast<std::int64_t>(sizeBytes) <= state().capacity,
                         "fake device out of memory. Tried to allocate ", sizeBytes, " bytes");
        void* place = std::aligned_alloc(kAlignment, (sizeBytes + kAlignment - 1) / kAlignment * kAlignment);
        m_sizes[place] = sizeBytes;
        allocated.increase(sizeBytes);
        auto& reserved = m_stats.reserved_bytes[kAggregate];
        const std::int64_t segments = (allocated.current + kSegment - 1) / kSegment * kSegment;
        if (segments > reserved.current) {
            reserved.increase(static_cast<std::size_t>(segments - reserved.current));
        }
        report(place, static_cast<std::int64_t>(sizeBytes));
        return {place, place, &release, kDevice};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void* target, const void* source, std::size_t count) const override {
        default_copy_data(target, source, count);
    }
    bool initialized() override { return true; }
    void emptyCache(c10::MempoolId_t) override {}
    void recordStream(const c10::DataPtr&, c10::Stream) override {}
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
        const std::lock_guard lock(m_mutex);
        return m_stats;
    }
    void resetAccumulatedStats(c10::DeviceIndex) override {}
    void resetPeakStats(c10::DeviceIndex) override {
        const std::lock_guard lock(m_mutex);
        m_stats.allocated_bytes[kAggregate].reset_peak();
        m_stats.reserved_bytes[kAggregate].reset_peak();
    }

private:
    static constexpr std::size_t kAlignment = 64;
    static constexpr std::int64_t kSegment = std::int64_t{2} << 20;

    static void release(void* place);
    void report(void* place, std::int64_t sizeBytes) const {
        c10::reportMemoryUsageToProfiler(place, sizeBytes,
                                         static_cast<std::size_t>(m_stats.allocated_bytes[kAggregate].current),
                                         static_cast<std::size_t>(m_stats.reserved_bytes[kAggregate].current), kDevice);
    }

    std::mutex m_mutex;
    c10::CachingDeviceAllocator::DeviceStats m_stats;
    std::unordered_map<void*, std::size_t> m_sizes;
};

Allocator& allocator() {
    static auto* instance = new Allocator;
    return *instance;
}

void Allocator::release(void* place) {
    if (place == nullptr) {
        return;
    }
    Allocator& own = allocator();
    const std::lock_guard lock(own.m_mutex);
    const auto found = own.m_sizes.find(place);
    own.m_stats.allocated_bytes[kAggregate].decrease(found->second);
    own.report(place, -static_cast<std::int64_t>(found->second));
    own.m_sizes.erase(found);
    std::free(place);
}

using Clock = std::chrono::steady_clock;

class Guard : public c10::impl::DeviceGuardImplInterface {
public:
    c10::DeviceType type() const override { return kType; }
    c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
    c10::Device getDevice() const override { return kDevice; }
    void setDevice(c10::Device) const override {}
    void uncheckedSetDevice(c10::Device) const noexcept override {}
    c10::Stream getStream(c10::Device) const override { return stream(threadStream); }
    c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return stream(1); }
    c10::Stream getDefaultStream(c10::Device) const override { return c10::Stream(c10::Stream::DEFAULT, kDevice); }
    c10::Stream exchangeStream(c10::Stream next) const override { return stream(std::exchange(threadStream, next.id())); }
    c10::DeviceIndex deviceCount() const noexcept override { return 1; }
    void record(void** event, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {
        checkAlive();
        if (*event == nullptr) {
            *event = new Clock::time_point;
        }
        *static_cast<Clock::time_point*>(*event) = Clock::now();
        ++state().events;
    }
    void block(void*, const c10::Stream&) const override {}
    bool queryEvent(void*) const override { return true; }
    bool queryStream(const c10::Stream&) const override { return true; }
    void destroyEvent(void* event, c10::DeviceIndex) const noexcept override { delete static_cast<Clock::time_point*>(event); }
    void synchronizeEvent(void*) const override { wait(); }
    void synchronizeStream(const c10::Stream&) const override { wait(); }
    void synchronizeDevice(c10::DeviceIndex) const override { wait(); }
    double elapsedTime(void* begin, void* end, c10::DeviceIndex) const override {
        const auto span = *static_cast<Clock::time_point*>(end) - *static_cast<Clock::time_point*>(begin);
        return std::chrono::duration<double, std::milli>(span).count() * state().eventPercent / 100;
    }

private:
    static c10::Stream stream(c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, kDevice, id); }
    static void wait() {
        checkAlive();
        checkNotRecording();
    }
};

class Hooks : public at::PrivateUse1HooksInterface {
public:
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    c10::DeviceIndex deviceCount() const override { return 1; }
    c10::DeviceIndex getCurrentDevice() const override { return 0; }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
    void setCurrentDevice(c10::DeviceIndex) const override {}
};

bool isOurs(const at::Tensor& tensor) {
    return tensor.defined() && tensor.device().type() == kType;
}

at::Tensor onDevice(c10::Storage storage, caffe2::TypeMeta type) {
    return at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                                    type);
}

const at::Tensor& resizeKeepingData(const at::Tensor& self, at::IntArrayRef sizes, std::optional<at::MemoryFormat>) {
    const std::size_t needed =
        at::detail::computeStorageNbytesContiguous(sizes, self.element_size(), static_cast<std::size_t>(self.storage_offset()));
    if (needed > self.storage().nbytes()) {
        c10::DataPtr grown = allocator().allocate(needed);
        if (self.storage().nbytes() > 0) {
            std::memcpy(grown.get(), self.storage().data(), self.storage().nbytes());
        }
        self.storage().set_data_ptr(std::move(grown));
        self.storage().set_nbytes(needed);
    }
    self.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
    return self;  // NOLINT(bugprone-return-const-ref-from-parameter): the operator's own signature
}

/// Tensors of the host that lie on the memory of the device's, during one operator.
class Aliases {
public:
    at::Tensor toHost(const at::Tensor& tensor) {
        if (!isOurs(tensor)) {
            return tensor;
        }
        m_originals.push_back(tensor);
        if (tensor.numel() == 0) {
            // What writes to it may make it larger, which memory of another owner does not allow.
            m_aliases.push_back(at::empty(tensor.sizes(), at::TensorOptions().dtype(tensor.dtype())));
            return m_aliases.back();
        }
        void* data = tensor.storage().mutable_data();
        const auto size = static_cast<std::int64_t>(tensor.storage().nbytes());
        at::Tensor bytes = at::from_blob(data, {size}, at::TensorOptions().dtype(at::kByte));
        at::Tensor alias = at::empty({0}, at::TensorOptions().dtype(tensor.dtype()));
        alias.set_(bytes.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
        m_aliases.push_back(alias);
        return alias;
    }

    /// Gives the device's tensors the results for which an operator made them larger.
    void settle() const {
        for (std::size_t i = 0; i < m_aliases.size(); ++i) {
            const at::Tensor& original = m_originals[i];
            if (m_aliases[i].sizes() != original.sizes()) {
                const at::Tensor dense = m_aliases[i].contiguous();
                resizeKeepingData(original, dense.sizes(), std::nullopt);
                std::memcpy(original.storage().mutable_data(), dense.const_data_ptr(), dense.nbytes());
            }
        }
    }

    /// The device's tensor for a result: an argument itself, a view of one, or a copy.
    at::Tensor toDevice(const at::Tensor& result) const {
        if (!result.defined()) {
            return result;
        }
        for (std::size_t i = 0; i < m_aliases.size(); ++i) {
            const at::Tensor& original = m_originals[i];
            if (result.unsafeGetTensorImpl() == m_aliases[i].unsafeGetTensorImpl()) {
                return original;
            }
            if (result.storage().data() == original.storage().data() && original.storage().data() != nullptr) {
                // With the keys of the original: a view of a usual tensor is one in inference mode, too.
                at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(
                    c10::TensorImpl::VIEW, c10::Storage(original.storage()), original.key_set(), result.dtype());
                view.unsafeGetTensorImpl()->set_sizes_and_strides(result.sizes(), result.strides(), result.storage_offset());
                return view;
            }
        }
        at::Tensor copy = onDevice(c10::Storage(c10::Storage::use_byte_size_t(), result.storage().nbytes(), &allocator(), true),
                                   result.dtype());
        copy.unsafeGetTensorImpl()->set_sizes_and_strides(result.sizes(), result.strides(), result.storage_offset());
        if (result.storage().nbytes() > 0) {
            std::memcpy(copy.storage().mutable_data(), result.storage().data(), result.storage().nbytes());
        }
        return copy;
    }

private:
    std::vector<at::Tensor> m_originals;
    std::vector<at::Tensor> m_aliases;
};

template <class Convert>
void convertTensors(c10::IValue& value, Convert convert) {
    if (value.isTensor()) {
        value = convert(value.toTensor());
    } else if (value.isTensorList()) {
        c10::List<at::Tensor> list = value.toTensorList().copy();
        for (std::size_t i = 0; i < list.size(); ++i) {
            list.set(i, convert(list.get(i)));
        }
        value = list;
    } else if (value.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> list = value.toOptionalTensorList().copy();
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (const std::optional<at::Tensor> tensor = list.get(i)) {
                list.set(i, convert(*tensor));
            }
        }
        value = list;
    }
}

/// Calls `operation` on the host, with arguments that lie on the device; gives results there.
void callOnHost(const c10::OperatorHandle& operation, torch::jit::Stack& stack) {
    Aliases aliases;
    const std::size_t argumentCount = operation.schema().arguments().size();
    for (std::size_t i = 0; i < argumentCount; ++i) {
        c10::IValue& argument = stack[stack.size() - argumentCount + i];
        if (argument.isDevice()) {
            argument = c10::Device(c10::DeviceType::CPU);
        } else {
            convertTensors(argument, [&](const at::Tensor& tensor) { return aliases.toHost(tensor); });
        }
    }
    operation.callBoxed(stack);
    aliases.settle();
    const std::size_t resultCount = operation.schema().returns().size();
    for (std::size_t i = 0; i < resultCount; ++i) {
        convertTensors(stack[stack.size() - resultCount + i],
                       [&](const at::Tensor& tensor) { return aliases.toDevice(tensor); });
    }
}

/// Every operator that has no kernel below: the CPU's, on the same memory.
void runOnHost(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
    if (threadRecording == nullptr) {
        launch();
        callOnHost(operation, *stack);
        return;
    }
    checkAlive();
    if (operation.schema().name() == "aten::_local_scalar_dense") {
        checkNotRecording();
    }
    ++state().recorded;
    const auto end = stack->end();
    const auto argumentCount = static_cast<std::ptrdiff_t>(operation.schema().arguments().size());
    torch::jit::Stack arguments(end - argumentCount, end);
    // Run all the same, for the results' shapes and memory.
    callOnHost(operation, *stack);
    const auto resultCount = static_cast<std::ptrdiff_t>(operation.schema().returns().size());
    threadRecording->push_back({operation, std::move(arguments), {stack->end() - resultCount, stack->end()}});
}

std::vector<at::Tensor> tensorsIn(torch::jit::Stack stack) {
    std::vector<at::Tensor> tensors;
    for (c10::IValue& value : stack) {
        convertTensors(value, [&](const at::Tensor& tensor) {
            if (isOurs(tensor)) {
                tensors.push_back(tensor);
            }
            return tensor;
        });
    }
    return tensors;
}

class Graph : public at::GraphImplInterface {
public:
    explicit Graph(const at::GraphImplArgs&) {}
    ~Graph() override { stopRecording(); }

    void capture_begin(at::MempoolId_t, at::GraphCaptureMode) override {
        checkAlive();
        TORCH_CHECK(threadStream != 0, "fake device: graphs must be captured on a stream other than the default one");
        TORCH_CHECK(threadRecording == nullptr && m_steps.empty(), "fake device: a graph is recorded already");
        threadRecording = &m_steps;
    }
    void capture_end() override {
        stopRecording();
        // Nothing was computed, so no result is there.
        std::vector<const void*> given;
        for (const Recorded& step : m_steps) {
            for (const at::Tensor& tensor : tensorsIn(step.arguments)) {
                given.push_back(tensor.storage().data());
            }
            for (const at::Tensor& tensor : tensorsIn(step.results)) {
                if (tensor.numel() > 0 && std::find(given.begin(), given.end(), tensor.storage().data()) == given.end()) {
                    std::memset(tensor.storage().mutable_data(), 0xFF, tensor.storage().nbytes());
                }
            }
        }
    }
    void instantiate() override {}
    void replay() override {
        checkNotRecording();
        ++state().replays;
        for (const Recorded& step : m_steps) {
            launch();
            torch::jit::Stack stack = step.arguments;
            callOnHost(step.operation, stack);
            const std::vector<at::Tensor> now = tensorsIn(stack);
            const std::vector<at::Tensor> then = tensorsIn(step.results);
            for (std::size_t i = 0; i < now.size(); ++i) {
                if (now[i].storage().data() != then[i].storage().data()) {
                    std::memcpy(then[i].storage().mutable_data(), now[i].storage().data(), now[i].storage().nbytes());
                }
            }
        }
    }
    void reset() override {
        stopRecording();
        m_steps.clear();
    }
    at::MempoolId_t pool() const override { return {0, 0}; }
    void enable_debug_mode() override {}
    void debug_dump(const std::string&) override {}

private:
    void stopRecording() {
        if (threadRecording == &m_steps) {
            threadRecording = nullptr;
        }
    }

    std::vector<Recorded> m_steps;
};

/// The one operator that must have a kernel of the device's own.
void convolve(const c10::OperatorHandle&, torch::jit::Stack* stack) {
    static const c10::OperatorHandle operation = c10::Dispatcher::singleton().findSchemaOrThrow("aten::convolution", "");
    runOnHost(operation, stack);
}

at::Tensor emptyMemoryFormat(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                             std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
    return at::detail::empty_generic(sizes, &allocator(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                     dtype.value_or(at::kFloat), format);
}

at::Tensor emptyStrided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<at::ScalarType> dtype,
                        std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
    return at::detail::empty_strided_generic(sizes, strides, &allocator(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                             dtype.value_or(at::kFloat));
}

at::Tensor copyFrom(const at::Tensor& source, const at::Tensor& target, bool nonBlocking) {
    checkAlive();
    if (threadRecording != nullptr && isOurs(source) && isOurs(target)) {
        // A copy on the device is an operator like others.
        static const c10::OperatorHandle copy = c10::Dispatcher::singleton().findSchemaOrThrow("aten::copy_", "");
        ++state().recorded;
        threadRecording->push_back({copy, {target, source, nonBlocking}, {target}});
    } else {
        checkNotRecording();
    }
    state().copiesIn += !isOurs(source) && isOurs(target) ? 1 : 0;
    state().copiesOut += isOurs(source) && !isOurs(target) ? 1 : 0;
    Aliases aliases;
    aliases.toHost(target).copy_(aliases.toHost(source), nonBlocking);
    return target;
}

at::Tensor& setStorage(at::Tensor& self, at::Storage source, std::int64_t offset, at::IntArrayRef sizes,
                       at::IntArrayRef strides) {
    self.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(source));
    if (strides.data() == nullptr && !sizes.empty()) {
        self.unsafeGetTensorImpl()->set_storage_offset(offset);
        self.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
    } else {
        self.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
    }
    return self;
}

at::Tensor& setWholeStorage(at::Tensor& self, at::Storage source) {
    const auto count = static_cast<std::int64_t>(source.nbytes() / self.element_size());
    return setStorage(self, std::move(source), 0, {count}, {1});
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&runOnHost>());
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
    m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("empty.memory_format", &emptyMemoryFormat);
    m.impl("empty_strided", &emptyStrided);
    m.impl("_copy_from", &copyFrom);
    m.impl("set_.source_Storage", &setWholeStorage);
    m.impl("set_.source_Storage_storage_offset", &setStorage);
    m.impl("resize_", &resizeKeepingData);
    m.impl("convolution_overrideable", torch::CppFunction::makeFromBoxedFunction<&convolve>());
}

[[maybe_unused]] const bool kIsRegistered = [] {
    // Its own name: without one LibTorch takes the device for no accelerator, and backward refuses it.
    c10::register_privateuse1_backend("privateuseone");
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    c10::SetAllocator(kType, &allocator());
    return true;
}();

}  // namespace

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

}  // namespace modulelens::test::fakedevice

namespace at {
REGISTER_GRAPH_IMPL(PRIVATEUSEONE, modulelens::test::fakedevice::Graph)
}

namespace modulelens::test::fakedevice {

Counts counts() {
    const auto stats = allocator().getDeviceStats(0);
    return {state().launches,
            state().copiesIn,
            state().copiesOut,
            state().events,
            state().recorded,
            state().replays,
            stats.allocated_bytes[kAggregate].current,
            stats.allocated_bytes[kAggregate].peak,
            stats.reserved_bytes[kAggregate].current,
            stats.reserved_bytes[kAggregate].peak};
}

void setCapacity(std::int64_t bytes) {
    state().capacity = bytes;
}

void setEventPercent(int percent) {
    state().eventPercent = percent;
}

void loseAfter(std::int64_t launches) {
    state().lostAt = launches < 0 ? -1 : state().launches + launches;
}

}  // namespace modulelens::test::fakedevice
