#pragma once

#include <compare>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "troupe/transport/collective_call.hpp"
#include "troupe/transport/work.hpp"

namespace troupe {

/// Assigns the tensors that one rank sends to another, outside of collectives, to receives: the n-th receive that
/// begins gets the n-th tensor that arrives, for any order of calls of take(). Not thread-safe: the owner locks.
class Inbox {
 public:
  /// Adds a tensor that has arrived, unless its receive was dropped. Returns the number, from 0, of the receive that
  /// gets it.
  std::int64_t arrive(Tensor tensor) {
    const auto number = arrived_++;
    if (dropped_.erase(number) == 0) tensors_.emplace(number, std::move(tensor));
    return number;
  }
  /// Begins a receive. Returns its number, from 0.
  std::int64_t post() { return posted_++; }
  /// Returns the tensor of receive `number` and removes it; nothing if it has not arrived.
  std::optional<Tensor> take(std::int64_t number) {
    auto node = tensors_.extract(number);
    return node ? std::optional(std::move(node.mapped())) : std::nullopt;
  }
  /// Gives up receive `number`. Its tensor is dropped, now or when it arrives.
  void drop(std::int64_t number) {
    if (tensors_.erase(number) == 0 && number >= arrived_) dropped_.insert(number);
  }

 private:
  std::int64_t arrived_ = 0;
  std::int64_t posted_ = 0;
  std::map<std::int64_t, Tensor> tensors_;
  std::set<std::int64_t> dropped_;
};

/// Identifies a receive: the sending rank, the receiving rank, and the number of the receive among those between the
/// two.
struct Receive {
  int from, to;
  std::int64_t number;  // result of Inbox::post() of the inbox for tensors from rank `from` to rank `to`

  auto operator<=>(const Receive&) const = default;
};

/// The work of a receive by rank `to` from rank `from`, which copies the received tensor into `tensor`. `Inboxes` must
/// be thread-safe and have post(from, to), which begins a receive and returns it as a Receive; take(receive), which
/// returns the tensor, or nothing before it has arrived; listen(receive, listener), which sets the listener that is
/// called when the tensor arrives; and drop(receive), which gives the receive up.
template <class Inboxes>
class ReceiveWork final : public Work {
 public:
  ReceiveWork(std::shared_ptr<Inboxes> inboxes, Tensor tensor, int from, int to)
      : inboxes_(std::move(inboxes)), tensor_(std::move(tensor)), receive_(inboxes_->post(from, to)) {}
  ~ReceiveWork() override { inboxes_->drop(receive_); }

  bool advance(std::size_t /*local*/) override {
    if (done_) return true;
    const auto sent = inboxes_->take(receive_);
    if (!sent) return false;
    expect_alike(*sent, receive_.from, tensor_, receive_.to);
    if (sent->bytes() > 0) std::memcpy(tensor_.mutable_raw(), sent->raw(), sent->bytes());
    return done_ = true;
  }
  void listen(std::size_t /*local*/, ProgressListener listener) override {
    inboxes_->listen(receive_, std::move(listener));
  }
  std::string waits_for(std::size_t /*local*/) const override {
    return "recv: rank " + std::to_string(receive_.from) + " has not sent";
  }

 private:
  std::shared_ptr<Inboxes> inboxes_;
  Tensor tensor_;
  Receive receive_;
  bool done_ = false;
};

}  // namespace troupe
