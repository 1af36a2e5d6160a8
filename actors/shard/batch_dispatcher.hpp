#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/run/port_actor.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// How the batches of an epoch come to workers.
enum class Dispatch {
  parts,        ///< every worker gets its part of every batch, as the replicas of a Mirrored strategy do
  who_is_free,  ///< a batch has as many rows as the first such part, and goes whole to whoever has room for it
};

/// Gives workers the samples that they are to load: each sample of an epoch once. Outputs: for each worker the numbers
/// of the samples, int32[B], and the batch info. A step is a batch.
class BatchDispatcher final : public PortActor {
 public:
  BatchDispatcher(caf::actor_config& config, Dataset data, std::uint64_t seed, int workers, Dispatch dispatch);

  /// Rows of a batch of that kind, at most.
  static std::int64_t batch_rows(const Dataset& data, int workers, Dispatch dispatch);

 private:
  void on_run(const RunInfo& run) override;
  std::optional<std::int64_t> steps_left() override { return batches_ - first_batch_; }
  void advance() override;

  bool has_room(int worker) const;
  bool send_parts();
  bool send_to_free();
  void send(int worker, std::int64_t batch, BatchPart part);

  const Dataset data_;
  const std::uint64_t seed_;
  const int workers_;
  const Dispatch dispatch_;
  const std::int64_t batch_rows_, batches_;
  std::vector<std::int32_t> order_;
  std::int64_t first_step_ = 0, first_batch_ = 0;
  std::vector<std::int64_t> next_;  // batch, by worker; of all if whoever is free gets it
  int last_ = 0;                    // who got a batch last
};

/// Adds the dispatcher of a data set that the spawn context has under the name `source`. For each worker, what loads
/// its samples and computes reads the outputs 2 w and 2 w + 1.
ActorId add_dispatcher(Plan& plan, const std::string& source, const Dataset& data, std::uint64_t seed, int workers,
                       Dispatch dispatch, const Place& place);

/// Adds what loads the fields of samples whose numbers a dispatcher sends to a worker. Its outputs are those fields.
ActorId add_gatherer(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                     ActorId dispatcher, int worker, const Place& place);

}  // namespace troupe
