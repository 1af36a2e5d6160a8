#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Tensors that one rank sends to another outside of collectives. The n-th receive gets the n-th of them, whichever is
/// advanced first. Used under its owner's lock.
class Inbox {
 public:
  /// A tensor has come. Returns the number of the receive that gets it, from 0.
  std::int64_t arrive(Tensor tensor) {
    const auto number = arrived_++;
    if (dropped_.erase(number) == 0) tensors_.emplace(number, std::move(tensor));
    return number;
  }
  /// A receive begins. Returns its number.
  std::int64_t post() { return posted_++; }
  /// What that receive gets, once it is there.
  std::optional<Tensor> take(std::int64_t number) {
    auto found = tensors_.extract(number);
    return found ? std::optional(std::move(found.mapped())) : std::nullopt;
  }
  /// The receive is given up, and its tensor with it.
  void drop(std::int64_t number) {
    if (tensors_.erase(number) == 0 && number >= arrived_) dropped_.insert(number);
  }

 private:
  std::int64_t arrived_ = 0;
  std::int64_t posted_ = 0;
  std::map<std::int64_t, Tensor> tensors_;
  std::set<std::int64_t> dropped_;
};

}  // namespace troupe
