#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/store/update_counter.hpp"
#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// A parameter that an external actor holds.
struct HeldTensor {
  Tensor tensor;
  /// Null: it only reads.
  std::shared_ptr<UpdateCounter> updates;
};

/// What an external actor holds of the store, and how it writes to that: every update is counted, and one that throws
/// leaves the parameter half-written.
class HeldParameters {
 public:
  /// `holder` begins the text of errors.
  void hold(std::string holder, std::vector<HeldTensor> held);
  void clear() { held_.clear(); }

  /// Throws Error if there is none of that number.
  const Tensor& tensor(std::size_t i) const;
  std::int64_t updates_of(std::size_t i) const;
  /// One update of parameter i. Throws Error if it is only read, or half-written.
  void update(std::size_t i, const std::function<void(const Tensor& parameter)>& write);
  /// One update of all that are written. Throws Error if one is half-written.
  void update_all(const std::function<void()>& write) { write_to_all(write, &UpdateCounter::finish_update); }
  /// As above, but it counts as a part of the last update.
  void amend_all(const std::function<void()>& write) { write_to_all(write, &UpdateCounter::finish_amendment); }

 private:
  void expect_whole(std::size_t i) const;
  void write_to_all(const std::function<void()>& write, void (UpdateCounter::*finish)());

  std::string holder_;
  std::vector<HeldTensor> held_;
};

}  // namespace troupe
