#include "troupe/ops/core/backend.hpp"

#include <cstring>
#include <limits>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/built_in_backends.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cpu/in_float32.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/onednn.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

/// A stream that runs work on the calling thread: the work is complete when the call that launches it returns.
class CpuStream final : public Stream {
 public:
  using Stream::Stream;

  Event record() override { return {}; }
  void wait(const Event& event) override { event.wait(); }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void zero(std::byte* memory, std::size_t bytes) override {
    if (bytes > 0) std::memset(memory, 0, bytes);
  }
};

/// Adds the kernel of an op. If the factory takes no 16-bit floats, calls with 16-bit floats are computed in float32;
/// only updates refuse them.
void add(KernelTable& table, const OpDef& op, std::unique_ptr<Kernel> (*factory)(const OpCall&)) {
  if (cpu_takes_16_bits(op) || op.kind == OpKind::update) return table.add(op, {factory, cpu_takes_16_bits(op)});
  table.add(op, {[factory](const OpCall& call) {
                   return cpu::has_16_bits(call) ? cpu::in_float32(call, factory) : factory(call);
                 },
                 true});
}

void add_kernels(KernelTable& table) {
#define TROUPE_OP(op, factory) add(table, op, cpu::factory);
#include "troupe/ops/graph/op_list.def"
}

class CpuBackend final : public Backend {
 public:
  CpuBackend() { add_kernels(kernels_); }

  bool host_accessible() const override { return true; }
  // A CPU device stands for one thread, so the number of devices is not limited.
  int device_count() const override { return std::numeric_limits<int>::max(); }

  std::shared_ptr<std::byte> allocate(Device device, std::size_t bytes) override {
    expect_valid(device);
    return allocate_pinned(bytes);
  }
  std::shared_ptr<std::byte> allocate_pinned(std::size_t bytes) override { return cpu_memory(bytes); }

  std::unique_ptr<Stream> make_stream(Device device) override {
    expect_valid(device);
    return std::make_unique<CpuStream>(device);
  }
  void synchronize(Device) override {}

  bool has_products_of(DType dtype) const override {
    return dtype == DType::float32 || (dtype == DType::bfloat16 && cpu::has_bfloat16_products());
  }
  KernelTable& kernels() override { return kernels_; }

 private:
  static void expect_valid(Device device) {
    if (device.index < 0) throw Error("device", "there is no " + to_string(device));
  }

  KernelTable kernels_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() {
  return std::make_unique<CpuBackend>();
}

}  // namespace troupe
