#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/shard/recording.hpp"
#include "troupe/actors/shard/shard_log.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// How the batches of an epoch are given to workers.
enum class Dispatch {
  parts,       ///< every worker gets its part of every batch, like the replicas of a Mirrored strategy
  first_free,  ///< a batch has the rows of the first such part, and goes whole to the next worker with room for it
  until_used,  ///< like first_free, and the epoch ends when no batch can be refused any more
};

/// Tells workers which samples to load: each sample of an epoch once. Outputs: for each worker the indices of the
/// samples, int32[B], and the batch info. A step is a batch. If a batch info is refused, the batch goes to another
/// worker.
class BatchDispatcher final : public PortActor {
 public:
  BatchDispatcher(caf::actor_config& config, Dataset data, std::uint64_t seed, int workers, Dispatch dispatch,
                  RunRecords records = {});

  /// The largest number of rows of such a batch.
  static std::int64_t batch_rows(const Dataset& data, int workers, Dispatch dispatch);

 private:
  void on_run(const RunInfo& run) override;
  std::optional<std::int64_t> steps_left() override { return batches_ - first_batch_; }
  void advance() override;

  void on_slot_free(std::uint32_t output, std::uint32_t slot) override;

  bool has_room(int worker) const;
  bool send_parts();
  bool send_to_free();
  void begin_recorded_run();
  bool send_as_recorded();
  std::optional<int> next_free();
  std::int64_t batch_limit() const;
  std::int64_t rows_of(std::int64_t batch) const;
  static std::uint32_t samples_of(int worker) { return static_cast<std::uint32_t>(2 * worker); }
  static std::uint32_t infos_of(int worker) { return samples_of(worker) + 1; }
  void send_part(int worker, std::int64_t batch, BatchPart part, std::int64_t sequence_number);

  const Dataset data_;
  const std::uint64_t seed_;
  const int workers_;
  const Dispatch dispatch_;
  const RunRecords records_;
  const std::int64_t batch_rows_, batches_;
  std::vector<std::int32_t> order_;
  std::int64_t first_step_ = 0, first_batch_ = 0;
  std::vector<std::int64_t> next_;     // batch: of each worker for parts, otherwise of all together
  int last_ = 0;                       // the worker that got a batch last
  std::int64_t sequence_numbers_ = 0;  // given so far, unless for parts
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> sent_;  // by output and slot: the batch
  std::set<std::int64_t> refused_;
  std::set<int> lost_;
  std::size_t runs_ = 0;
  std::int64_t end_batch_ = 0;                                               // of the recorded run
  std::vector<std::deque<std::pair<std::int64_t, std::int64_t>>> recorded_;  // by worker: batch and sequence number
};

/// Adds the dispatcher of the data set that the spawn context has under the name `source`. Worker w reads the outputs 2
/// w and 2 w + 1.
ActorId add_dispatcher(Plan& plan, const std::string& source, const Dataset& data, std::uint64_t seed, int workers,
                       Dispatch dispatch, const Place& place);

/// Adds the loader of a worker, which gets the indices of the samples from a dispatcher. Its outputs are the fields.
ActorId add_gatherer(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                     ActorId dispatcher, int worker, const Place& place);

}  // namespace troupe
