#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/load/epoch_order.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// Loads one replica's part of every batch of an epoch, from the run's first batch on. Outputs: fields of the data set
/// in the given order, or the indices of the samples, int32[B]; then the batch info.
class LoaderTask final : public Task {
 public:
  /// `fields` are indices of fields of the data set. Nothing: the outputs are the indices of the samples. `replicas`
  /// share the data set, or its shard.
  LoaderTask(Dataset data, std::optional<std::vector<std::size_t>> fields, std::uint64_t seed, int replicas,
             int replica)
      : data_(std::move(data)),
        fields_(std::move(fields)),
        orders_(data_, seed),
        replicas_(replicas),
        replica_(replica) {}

  void begin(const RunInfo& run, std::function<void()> wake) override;
  bool is_source() const override { return true; }
  std::optional<std::int64_t> next_rows() override;
  std::optional<std::int64_t> steps_left() const override { return data_.batches() - next_batch_; }
  bool fire(const Firing& firing) override;

 private:
  ShardLayout::Share share_of(std::int64_t batch) const;
  void load(std::span<const std::int32_t> samples, std::span<const Tensor> to) const;

  Dataset data_;
  std::optional<std::vector<std::size_t>> fields_;
  EpochOrder orders_;
  int replicas_, replica_;
  std::span<const std::int32_t> order_;
  std::int64_t next_batch_ = 0;
  ShardLayout::Share share_;
  BatchPart part_;
};

/// Adds the loader of one replica to a plan. It reads the data set that the spawn context has under the name `source`,
/// which must be like `data`. Its outputs are the fields of these names, then the batch info. With prefetch it is an
/// actor of its own, whose outputs hold that many batches; without prefetch the fused grain contracts it with the
/// replica. Data in shards: process p has shard p, and all processes have the same number of replicas. Throws Error if
/// there is no such field, or if the replicas do not fit the shards.
ActorId add_loader(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                   std::uint64_t seed, int replicas, int replica, const Place& place);

/// Adds the loader of one replica whose outputs are the indices of the samples, int32[B], then the batch info.
/// Otherwise like add_loader().
ActorId add_index_loader(Plan& plan, const std::string& source, const Dataset& data, std::uint64_t seed, int replicas,
                         int replica, const Place& place);

/// The info of a loader's output of indices.
inline TensorInfo sample_indices_info() {
  return {Shape{kBatch}, DType::int32};
}

/// The fields of the data set that an actor of a plan loads, by the attribute `fields` of its task. Throws Error if the
/// data set has other fields than the plan was made for.
std::vector<std::size_t> fields_of(const PlanActor& actor, const Dataset& data);

std::unique_ptr<Task> make_loader_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
