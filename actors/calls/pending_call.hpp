#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// A scheduled call, and its result once it has ended.
struct PendingCall {
  std::string function;
  std::vector<Tensor> inputs;

  mutable std::mutex mutex;
  // One of these, once the call has ended.
  std::optional<std::vector<Tensor>> outputs;
  std::string error;

  bool is_open() const {
    std::lock_guard lock(mutex);
    return !outputs && error.empty();
  }
  void end_with(std::vector<Tensor> result) {
    std::lock_guard lock(mutex);
    outputs = std::move(result);
  }
  void end_with(const std::string& reason) {
    std::lock_guard lock(mutex);
    error = reason;
  }
};

}  // namespace troupe
