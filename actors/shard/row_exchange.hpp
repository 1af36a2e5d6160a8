#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/shard/row_lookup.hpp"

namespace troupe {

/// An actor between a worker and the several shards of a parameter of which it looks up rows. It joins the rows of all
/// shards in one tensor, and sends each shard the gradients of its rows. Inputs: the indices, the gradients, then the
/// rows from each shard. Outputs: the rows, to the worker; then gradients, to each shard.
class RowExchange final : public PortActor {
 public:
  /// Shard i has the rows shards[i]. The ranges ascend without gaps.
  RowExchange(caf::actor_config& config, RowLookup lookup, std::vector<RowRange> shards);

  enum Input : std::uint32_t { kIndices, kGradients, kFirstShard };
  enum Output : std::uint32_t { kRows, kFirstGradients };

 private:
  void on_run(const RunInfo& run) override;
  void advance() override;
  bool send_rows();
  bool send_gradients();
  bool nothing_follows() const;
  FailurePtr guarded(const std::function<void()>& work);
  Tensor join_rows(const Tensor& indices, std::span<const Arrival> parts);
  std::vector<Tensor> split_gradients(const Tensor& gradients) const;
  std::vector<std::int64_t> rows_by_shard() const;
  std::size_t shard_of(std::int64_t row) const;

  const RowLookup lookup_;
  const std::vector<RowRange> shards_;
  std::vector<std::size_t> owners_;  // by index of the step whose gradients are awaited: the shard
  bool waits_for_gradients_ = false;
};

/// Adds a RowExchange to a plan. The caller connects the inputs.
ActorId add_row_exchange(Plan& plan, const std::string& name, const Place& place, int worker, const RowLookup& lookup,
                         const std::vector<RowRange>& shards);

}  // namespace troupe
