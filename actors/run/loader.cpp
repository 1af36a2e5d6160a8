#include "troupe/actors/run/loader.hpp"

#include <algorithm>

namespace troupe {

void LoaderTask::begin(const RunInfo& run, std::function<void()>) {
  order_ = data_.order(seed_, run.epoch);
  next_batch_ = 0;
}

std::optional<std::int64_t> LoaderTask::next_rows() {
  const auto first = next_batch_ * data_.batch_rows();
  if (first >= data_.rows()) return std::nullopt;
  batch_rows_ = std::min(data_.batch_rows(), data_.rows() - first);
  part_ = part_of_batch(batch_rows_, replicas_, replica_);
  ++next_batch_;
  return part_.rows;
}

bool LoaderTask::fire(const Firing& firing) {
  const auto first = (next_batch_ - 1) * data_.batch_rows() + part_.first;
  const auto examples =
      std::span(order_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(part_.rows));
  data_.gather(examples, firing.outputs[kFeatures], firing.outputs[kLabels]);
  auto info = firing.outputs[kBatchInfo].mutable_data<std::int64_t>();
  info[0] = part_.rows;
  info[1] = batch_rows_;
  info[2] = part_.first;
  info[3] = firing.step;
  return true;
}

ActorId add_loader(Plan& plan, const Dataset& data, std::uint64_t seed, int replicas, int replica, Device device) {
  PlanActor actor;
  actor.name = "loader@" + std::to_string(replica);
  actor.role = ActorRole::source;
  actor.device = device;
  actor.replica = replica;
  actor.outputs.resize(3);
  actor.outputs[kFeatures].info = {data.feature_shape(), DType::float32};
  actor.outputs[kLabels].info = {Shape{kBatch}, DType::int32};
  actor.outputs[kBatchInfo].info = {Shape{4}, DType::int64};
  actor.alone = data.prefetched() > 0;
  actor.make_task = [=] { return std::make_unique<LoaderTask>(data, seed, replicas, replica); };
  const auto loader = plan.add(std::move(actor));
  const auto capacity = static_cast<std::int32_t>(std::max<std::int64_t>(1, data.prefetched()));
  for (std::int32_t output = 0; output < 3; ++output) plan.edge_of(loader, output, capacity);
  return loader;
}

}  // namespace troupe
