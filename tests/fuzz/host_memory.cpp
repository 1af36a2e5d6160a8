// The host's memory without the kernels of ops/cpu, which the targets do not need. Blocks are not cached and have no
// padding, so AddressSanitizer sees every access past their ends or after their release.
#include <cstdlib>
#include <cstring>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/built_in_backends.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

constexpr std::size_t kAlignment = 64;

class HostStream final : public Stream {
 public:
  using Stream::Stream;

  Event record() override { return {}; }
  void wait(const Event& event) override { event.wait(); }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void zero(std::byte* memory, std::size_t bytes) override { std::memset(memory, 0, bytes); }
};

class HostMemory final : public Backend {
 public:
  bool host_accessible() const override { return true; }
  int device_count() const override { return 1; }
  std::shared_ptr<std::byte> allocate(Device, std::size_t bytes) override { return allocate_pinned(bytes); }
  std::shared_ptr<std::byte> allocate_pinned(std::size_t bytes) override { return cpu_memory(bytes); }
  std::unique_ptr<Stream> make_stream(Device device) override { return std::make_unique<HostStream>(device); }
  void synchronize(Device) override {}
  KernelTable& kernels() override { throw Error("backend", "the fuzzed parsers have no kernels"); }
};

}  // namespace

std::shared_ptr<std::byte> cpu_memory(std::size_t bytes, Allocator::Contents) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, bytes) != 0) throw Error("allocator", "out of memory");
  std::memset(memory, 0, bytes);
  return {static_cast<std::byte*>(memory), std::free};
}

std::unique_ptr<Backend> make_cpu_backend() {
  return std::make_unique<HostMemory>();
}

}  // namespace troupe
