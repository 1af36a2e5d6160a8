#pragma once

#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// Outputs of a loader, in this order.
enum LoaderOutput { kFeatures, kLabels, kBatchInfo };

/// Loads one replica's part of every batch of an epoch: features [B, ...], labels int32[B], and the batch info
/// int64[4]: rows of this part, rows of the whole batch, the part's first row in the batch, and the step.
class LoaderTask final : public Task {
 public:
  LoaderTask(Dataset data, std::uint64_t seed, int replicas, int replica)
      : data_(std::move(data)), seed_(seed), replicas_(replicas), replica_(replica) {}

  void begin(const RunInfo& run, std::function<void()> wake) override;
  bool is_source() const override { return true; }
  std::optional<std::int64_t> next_rows() override;
  bool fire(const Firing& firing) override;

 private:
  Dataset data_;
  std::uint64_t seed_;
  int replicas_, replica_;
  std::vector<std::int32_t> order_;
  std::int64_t next_batch_ = 0;
  std::int64_t batch_rows_ = 0;
  BatchPart part_;
};

/// Adds the loader of one replica to a plan. With prefetch it is an actor that stays alone, whose outputs hold so many
/// batches; without, it is contracted with the replica in the fused grain.
ActorId add_loader(Plan& plan, const Dataset& data, std::uint64_t seed, int replicas, int replica, Device device);

}  // namespace troupe
