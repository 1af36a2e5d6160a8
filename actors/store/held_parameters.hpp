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

/// A parameter, or some rows of it, that an external actor holds: an actor that PlanActor::spawn_external has spawned.
struct HeldTensor {
  Tensor tensor;
  /// Counts the updates that the actor makes. Null if the actor only reads the parameter.
  std::shared_ptr<UpdateCounter> updates;
};

/// The parameters of a ParameterStore that an external actor holds. Every update is counted. If the function that
/// writes a parameter throws, the parameter counts as half-written, and the actor cannot update it until the store has
/// recovered it or set a new value.
class HeldParameters {
 public:
  /// Sets the parameters. `holder` is the actor's name, with which the texts of errors begin.
  void hold(std::string holder, std::vector<HeldTensor> held) {
    holder_ = std::move(holder);
    held_ = std::move(held);
  }
  void clear() { held_.clear(); }

  std::size_t size() const { return held_.size(); }
  /// Parameter i. Throws Error if the actor holds no parameter i.
  const Tensor& tensor(std::size_t i) const;
  std::int64_t updates_of(std::size_t i) const;
  /// Calls `write` with parameter i, and counts one update. Throws Error if the actor holds no parameter i, if the
  /// actor only reads the parameter, or if the parameter is half-written.
  void update(std::size_t i, const std::function<void(const Tensor& parameter)>& write);
  /// Calls `write`, which writes all parameters that the actor may write, and counts one update of each. Throws Error
  /// if one of them is half-written.
  void update_all(const std::function<void()>& write) { write_to_all(write, &UpdateCounter::finish_update); }
  /// Like update_all(), but the writes are a part of the last update, so no update is counted.
  void amend_all(const std::function<void()>& write) { write_to_all(write, &UpdateCounter::finish_amendment); }

 private:
  void expect_whole(std::size_t i) const;
  void write_to_all(const std::function<void()>& write, void (UpdateCounter::*finish)());

  std::string holder_;
  std::vector<HeldTensor> held_;
};

}  // namespace troupe
