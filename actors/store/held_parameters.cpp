#include "troupe/actors/store/held_parameters.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

const Tensor& HeldParameters::tensor(std::size_t i) const {
  if (i >= held_.size())
    throw Error(holder_,
                "holds " + std::to_string(held_.size()) + " parameters, so none has the number " + std::to_string(i));
  return held_[i].tensor;
}

std::int64_t HeldParameters::updates_of(std::size_t i) const {
  (void)tensor(i);
  return held_[i].updates ? held_[i].updates->updates() : 0;
}

void HeldParameters::update(std::size_t i, const std::function<void(const Tensor& parameter)>& write) {
  const auto& parameter = tensor(i);
  const auto& updates = held_[i].updates;
  if (!updates) throw Error(holder_, "only reads parameter " + std::to_string(i));
  expect_whole(i);
  updates->begin_update();
  write(parameter);
  updates->finish_update();
}

void HeldParameters::expect_whole(std::size_t i) const {
  if (held_[i].updates && held_[i].updates->writing())
    throw Error(holder_, "parameter " + std::to_string(i) + " may be half-written: an update of it has failed");
}

void HeldParameters::write_to_all(const std::function<void()>& write, void (UpdateCounter::*finish)()) {
  for (std::size_t i = 0; i < held_.size(); ++i) expect_whole(i);
  for (auto& held : held_)
    if (held.updates) held.updates->begin_update();
  write();
  for (auto& held : held_)
    if (held.updates) (held.updates.get()->*finish)();
}

}  // namespace troupe
