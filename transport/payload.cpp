#include "troupe/transport/payload.hpp"

#include <cstring>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Returns a value that no earlier guard of this process has had.
std::uint64_t next_valid_word() {
  static std::atomic<std::uint64_t> last{0x74726F7570650000};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

PayloadGuard::PayloadGuard() : valid_word_(next_valid_word()), word_(valid_word_) {}

void PayloadGuard::withdraw() {
  word_.store(0, std::memory_order_relaxed);
  // The writer's half of a seqlock: writes of the caller to a payload after withdraw() become visible after the write
  // of the word. A stronger order of the store alone would not suffice, because a weakly ordered processor, such as
  // aarch64, lets later stores overtake it. The reader's half is a fence between its reads of the payload and of the
  // word.
  std::atomic_thread_fence(std::memory_order_release);
}

void IncomingPayload::expect_within(std::size_t offset, std::size_t count) const {
  if (offset > bytes() || count > bytes() - offset)
    throw Error("payload", std::to_string(count) + " bytes from " + std::to_string(offset) + " on are wanted, but " +
                               to_string(info_) + " has " + std::to_string(bytes()));
}

Tensor IncomingPayload::tensor() const {
  Tensor tensor(cpu_memory(bytes(), Allocator::Contents::any), info_.shape, info_.dtype);
  if (tensor.bytes() > 0) read(0, {tensor.mutable_raw(), tensor.bytes()});
  return tensor;
}

void TensorPayload::read(std::size_t offset, std::span<std::byte> to) const {
  expect_within(offset, to.size());
  if (!to.empty()) std::memcpy(to.data(), tensor_.raw() + offset, to.size());
}

}  // namespace troupe
