#include "troupe/tests/test_device/test_device.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/graph/kernel.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/test_device/device_memory.hpp"
#include "troupe/tests/test_device/device_queue.hpp"

namespace troupe::testing {

namespace {

constexpr int kDevices = 16;

/// Never destroyed, because tensors may be released after main has returned.
DeviceMemory& memory() {
  static auto& device_memory = *new DeviceMemory;
  return device_memory;
}

DeviceQueue& queue() {
  static auto& of_all = *new DeviceQueue;
  return of_all;
}

void expect_valid(Device device) {
  if (device.index < 0 || device.index >= kDevices) throw Error("device", "there is no " + to_string(device));
}

/// Frees memory once all work that was launched before is complete.
void release_later(std::byte* closed, std::size_t bytes) {
  const auto events = queue().record_all();
  if (events.empty()) return memory().release(closed, bytes);
  const auto left = std::make_shared<std::atomic<std::size_t>>(events.size());
  for (const auto& event : events)
    event.notify([=] {
      if (--*left == 0) memory().release(closed, bytes);
    });
}

/// Captured work of a stream, by launch. It is queued again in any order in which a launch comes after the launches
/// that it waits for.
class TestCapture final : public CapturedWork {
 public:
  void begin_launch(std::span<const std::size_t> waits_for) {
    if (!launches_by_call_) launches_.clear();
    launches_by_call_ = true;
    launches_.push_back({{}, {waits_for.begin(), waits_for.end()}});
  }
  void add(std::function<void()> piece) { launches_.back().pieces.push_back(std::move(piece)); }

  /// Calls f with every piece, in an order that depends on the seed.
  void for_each(std::uint64_t seed, const std::function<void(const std::function<void()>&)>& f) const {
    std::vector<bool> is_done(launches_.size());
    std::vector<std::size_t> ready;
    for (std::size_t done = 0; done < launches_.size(); ++done) {
      ready.clear();
      for (std::size_t i = 0; i < launches_.size(); ++i)
        if (!is_done[i] && std::ranges::all_of(launches_[i].waits_for, [&](auto other) { return is_done[other]; }))
          ready.push_back(i);
      const auto next = ready[uniform_below(ready.size(), seed, 0, done)];
      for (const auto& piece : launches_[next].pieces) f(piece);
      is_done[next] = true;
    }
  }

 private:
  /// The pieces of a launch, and the earlier launches that must be complete before it begins.
  struct Launch {
    std::vector<std::function<void()>> pieces;
    std::vector<std::size_t> waits_for;
  };
  std::vector<Launch> launches_{1};
  bool launches_by_call_ = false;
};

/// A stream whose work runs later, in any order that the queue permits.
class TestStream final : public Stream {
 public:
  explicit TestStream(Device device) : Stream(device), work_(queue().open(device)) {}
  ~TestStream() override { queue().close(*work_); }

  Event record() override {
    expect_no_capture("record an event");
    return queue().record(*work_);
  }
  void wait(const Event& event) override {
    expect_no_capture("wait for an event");
    queue().wait(*work_, event);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    launch([=] { std::memcpy(memory().open(to), memory().open(from), bytes); });
  }
  void zero(std::byte* at, std::size_t bytes) override {
    launch([=] { std::memset(memory().open(at), 0, bytes); });
  }

  bool can_capture() const override { return true; }
  void begin_capture() override {
    expect_no_capture("begin to capture");
    capture_ = std::make_shared<TestCapture>();
  }
  void begin_launch(std::span<const std::size_t> waits_for) override { capture_->begin_launch(waits_for); }
  std::shared_ptr<CapturedWork> end_capture() override { return std::exchange(capture_, nullptr); }
  void launch(const CapturedWork& work) override {
    expect_no_capture("launch captured work");
    static std::atomic<std::uint64_t> launched{0};
    dynamic_cast<const TestCapture&>(work).for_each(launched++,
                                                    [this](const auto& piece) { queue().launch(*work_, piece); });
  }

  std::exception_ptr fault() override { return queue().error(*work_); }

  void launch(std::function<void()> work) {
    if (capture_ != nullptr)
      capture_->add(std::move(work));
    else
      queue().launch(*work_, std::move(work));
  }

 private:
  void expect_no_capture(const char* what) const {
    if (capture_ != nullptr) throw Error("test device", std::string("while it captures, a stream cannot ") + what);
  }

  std::shared_ptr<DeviceQueue::Stream> work_;
  std::shared_ptr<TestCapture> capture_;
};

/// Runs the kernel of the CPU, later, on the open addresses.
class TestKernel final : public Kernel {
 public:
  TestKernel(std::string op, std::unique_ptr<Kernel> kernel) : op_(std::move(op)), kernel_(std::move(kernel)) {}

  std::size_t scratch_bytes() const override { return kernel_->scratch_bytes(); }

  void run(const KernelContext& context, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override {
    auto* stream = dynamic_cast<TestStream*>(&context.stream);
    if (stream == nullptr)
      throw Error(op_, "runs on test devices, not on a stream of " + to_string(context.stream.device()));
    stream->launch([kernel = kernel_, in = opened(inputs, *stream), out = opened(outputs, *stream),
                    scratch = memory().open(context.scratch)] {
      const auto cpu_stream = backend_of(DeviceType::cpu).make_stream(Device{});
      kernel->run({*cpu_stream, scratch}, in, out);
    });
  }

 private:
  /// The tensors with open addresses, for the CPU's kernel. They do not own memory; the launch keeps the original
  /// tensors.
  std::vector<Tensor> opened(std::span<const Tensor> tensors, const Stream& stream) const {
    std::vector<Tensor> result;
    for (const auto& tensor : tensors) {
      if (tensor.device() != stream.device())
        throw Error(op_, to_string(tensor) + " was given to a kernel on " + to_string(stream.device()));
      const std::shared_ptr<std::byte> borrowed(std::shared_ptr<void>(), memory().open(tensor.address()));
      result.emplace_back(borrowed, tensor.shape(), tensor.dtype());
    }
    return result;
  }

  std::string op_;
  std::shared_ptr<Kernel> kernel_;
};

/// Makes kernels from those of the CPU.
class TestKernels final : public KernelTable {
 public:
  void expect(const OpCall& call, Device) const override {
    if (!find(*call.op)) troupe::expect_kernel(call, Device{});
  }

  std::unique_ptr<Kernel> make(const OpCall& call, Device device) override {
    expect_valid(device);
    if (find(*call.op)) return KernelTable::make(call, device);
    return std::make_unique<TestKernel>(std::string(call.op->name), troupe::make_kernel(call, Device{}));
  }
};

class TestBackend final : public Backend {
 public:
  bool host_accessible() const override { return false; }
  int device_count() const override { return kDevices; }

  std::shared_ptr<std::byte> allocate(Device device, std::size_t bytes) override {
    expect_valid(device);
    if (bytes == 0) return nullptr;
    return {memory().allocate(bytes), [bytes](std::byte* closed) { release_later(closed, bytes); }};
  }
  std::shared_ptr<std::byte> allocate_pinned(std::size_t bytes) override {
    return backend_of(DeviceType::cpu).allocate_pinned(bytes);
  }

  std::unique_ptr<Stream> make_stream(Device device) override {
    expect_valid(device);
    return std::make_unique<TestStream>(device);
  }
  void synchronize(Device device) override {
    for (const auto& event : queue().record_all(&device)) event.state()->wait_for(std::chrono::hours(1));
  }

  KernelTable& kernels() override { return kernels_; }

 private:
  TestKernels kernels_;
};

}  // namespace

void register_test_devices() {
  static const bool kRegistered = [] {
    register_backend(DeviceType::test, std::make_unique<TestBackend>());
    return true;
  }();
  (void)kRegistered;
}

Device test_device(int index) {
  register_test_devices();
  return {DeviceType::test, index};
}

HeldTestDevices::HeldTestDevices(std::uint64_t seed) : seed_(seed) {
  queue().hold();
}

HeldTestDevices::~HeldTestDevices() {
  queue().resume(seed_);
}

void HeldTestDevices::wait_until_queued(std::size_t pieces) const {
  if (!queue().wait_until_queued(pieces, patience()))
    throw Error("test device", std::to_string(pieces) + " pieces of work were not queued in time");
}

DelayedTestDevices::DelayedTestDevices() {
  queue().delay(1);
}

DelayedTestDevices::~DelayedTestDevices() {
  queue().delay(-1);
}

FullTestDevices::FullTestDevices() {
  memory().set_limit(test_device_bytes_in_use());
}

FullTestDevices::~FullTestDevices() {
  memory().set_limit(std::numeric_limits<std::size_t>::max());
}

std::size_t test_device_bytes_in_use() {
  const HeldTestDevices drained(0);
  return memory().bytes_in_use();
}

std::size_t test_device_events() {
  return queue().events();
}

}  // namespace troupe::testing
