#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// A call that was scheduled, and in the end what came of it.
struct PendingCall {
  std::string function;
  std::vector<Tensor> inputs;

  mutable std::mutex mutex;
  // Either, once it has ended.
  std::optional<std::vector<Tensor>> outputs;
  std::string error;

  bool is_open() const {
    std::lock_guard lock(mutex);
    return !outputs && error.empty();
  }
  void end_with(std::vector<Tensor> made) {
    std::lock_guard lock(mutex);
    outputs = std::move(made);
  }
  void end_with(const std::string& why) {
    std::lock_guard lock(mutex);
    error = why;
  }
};

}  // namespace troupe
