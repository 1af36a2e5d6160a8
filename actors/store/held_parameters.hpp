#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/store/update_counter.hpp"
#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// A parameter that an external actor holds.
struct HeldTensor {
  Tensor tensor;
  /// Null if the actor only reads.
  std::shared_ptr<UpdateCounter> updates;
};

/// The parameters of the store that an external actor holds. Every update is counted. An update that throws leaves the
/// parameter half-written.
class HeldParameters {
 public:
  /// `holder` is the place of errors.
  void hold(std::string holder, std::vector<HeldTensor> held) {
    holder_ = std::move(holder);
    held_ = std::move(held);
  }
  void clear() { held_.clear(); }

  /// Parameter i. Throws Error if there is none of that number.
  const Tensor& tensor(std::size_t i) const;
  std::int64_t updates_of(std::size_t i) const;
  /// Makes one update of parameter i. Throws Error if it is only read, or half-written.
  void update(std::size_t i, const std::function<void(const Tensor& parameter)>& write);
  /// Makes one update of all written parameters. Throws Error if one is half-written.
  void update_all(const std::function<void()>& write) { write_to_all(write, &UpdateCounter::finish_update); }
  /// Writes to all written parameters as a part of their last update. Throws Error if one is half-written.
  void amend_all(const std::function<void()>& write) { write_to_all(write, &UpdateCounter::finish_amendment); }

 private:
  void expect_whole(std::size_t i) const;
  void write_to_all(const std::function<void()>& write, void (UpdateCounter::*finish)());

  std::string holder_;
  std::vector<HeldTensor> held_;
};

}  // namespace troupe
