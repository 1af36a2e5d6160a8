#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "troupe/actors/messages/call_result.hpp"
#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Named float32 tensors that calls read and add to. Thread-safe.
class Variables {
 public:
  /// Throws Error if there is a variable of that name, or the value is not float32.
  void create(const std::string& name, const Tensor& value);
  /// The current value. Throws Error that lists the names if there is no such variable.
  Tensor read(const std::string& name) const;
  /// Throws Error if there is no such variable, or the update has another shape or dtype.
  void check(const VariableUpdate& update) const;
  /// Applies all updates at once. Each must have passed check().
  void add(const std::vector<VariableUpdate>& updates);
  /// The number of updates of a variable.
  std::int64_t updates_of(const std::string& name) const;

 private:
  struct Variable {
    Tensor value;
    std::int64_t updates = 0;
  };
  const Variable& find(const std::string& name) const;

  mutable std::mutex mutex_;
  std::map<std::string, Variable> variables_;
};

}  // namespace troupe
