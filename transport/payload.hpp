#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// Promises, as long as it is valid, that payloads lie unchanged at the addresses that their sender has announced. A
/// reader in another process reads the payload first and the guard's word second: if the word then has the valid value,
/// the payload was unchanged. Thread-safe.
class PayloadGuard {
 public:
  PayloadGuard();
  /// Withdraws the payloads, because a reader may still read the word after the memory of the guard is freed, and must
  /// not find the valid value there.
  ~PayloadGuard() { withdraw(); }
  PayloadGuard(const PayloadGuard&) = delete;
  PayloadGuard& operator=(const PayloadGuard&) = delete;

  /// Ends the promise. The caller may write to the payloads, or free them, once withdraw() has returned.
  void withdraw();
  bool valid() const { return word_.load(std::memory_order_seq_cst) == valid_word_; }

  /// Returns the address of the word that readers check.
  const void* address() const { return &word_; }
  /// The value of the word while the payloads are valid. No other guard of this process has this value, so that a guard
  /// made later at the same address is not mistaken for this one.
  std::uint64_t valid_word() const { return valid_word_; }

 private:
  const std::uint64_t valid_word_;
  std::atomic<std::uint64_t> word_;
};

/// Thrown when a payload cannot be read any more because its sender has withdrawn it, or because the sending process is
/// lost. The receiver learns the reason from another frame of the sender, or from the failure of the link.
class PayloadWithdrawn final : public Error {
 public:
  explicit PayloadWithdrawn(const std::string& why) : Error("link", why) {}
};

/// The payload of a frame that has arrived. Its bytes are in memory of this process, or still in memory of the sender,
/// which keeps them unchanged until this object is destroyed, unless it withdraws them. Used by one thread at a time.
class IncomingPayload {
 public:
  explicit IncomingPayload(TensorInfo info) : info_(std::move(info)) {}
  virtual ~IncomingPayload() = default;
  IncomingPayload(const IncomingPayload&) = delete;
  IncomingPayload& operator=(const IncomingPayload&) = delete;

  const TensorInfo& info() const { return info_; }
  std::size_t bytes() const { return static_cast<std::size_t>(info_.shape.elements()) * size_of(info_.dtype); }
  /// Copies to.size() bytes of the payload, from byte `offset` on, to `to`. Throws Error if the payload has fewer
  /// bytes, and PayloadWithdrawn if the sender has withdrawn the payload or is lost.
  virtual void read(std::size_t offset, std::span<std::byte> to) const = 0;
  /// Returns the address of the bytes if they are in memory of this process, else null. The bytes live as long as this
  /// object.
  virtual const std::byte* local() const { return nullptr; }
  /// Returns the whole payload, in memory that no other code writes to. Throws the errors of read().
  virtual Tensor tensor() const;

 protected:
  /// Throws Error unless the payload has `count` bytes from byte `offset` on.
  void expect_within(std::size_t offset, std::size_t count) const;

 private:
  TensorInfo info_;
};

/// A payload in memory of this process.
class TensorPayload final : public IncomingPayload {
 public:
  explicit TensorPayload(Tensor tensor)
      : IncomingPayload({tensor.shape(), tensor.dtype()}), tensor_(std::move(tensor)) {}

  void read(std::size_t offset, std::span<std::byte> to) const override;
  const std::byte* local() const override { return tensor_.raw(); }
  Tensor tensor() const override { return tensor_; }

 private:
  Tensor tensor_;
};

}  // namespace troupe
