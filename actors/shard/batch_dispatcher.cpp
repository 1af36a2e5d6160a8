#include "troupe/actors/shard/batch_dispatcher.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "troupe/actors/load/loader.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/shard/recording.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

// Slots of each output. A slot holds a tensor until the worker returns it: one for the worker's current batch and one
// for the next batch.
constexpr std::int32_t kAhead = 2;

class BatchDispatcher final : public PortActor {
 public:
  BatchDispatcher(caf::actor_config& config, Dataset data, std::uint64_t seed, int workers, Dispatch dispatch,
                  RunRecords records)
      : PortActor(config),
        data_(std::move(data)),
        seed_(seed),
        workers_(workers),
        dispatch_(dispatch),
        records_(std::move(records)),
        batch_rows_(part_of_batch(data_.largest_batch(), dispatch == Dispatch::parts ? 1 : workers, 0).rows),
        batches_(data_.rows() / batch_rows_ + (data_.rows() % batch_rows_ == 0 ? 0 : 1)) {
    // on_slot_free() sends refused batches again. After the end of a run with Dispatch::first_free, shards drop them.
    tolerate_losses();
  }

 private:
  std::optional<std::int64_t> steps_left() override { return batches_ - first_batch_; }

  void on_run(const RunInfo& run) override {
    order_ = data_.sample_order(seed_, run.epoch);
    first_step_ = run.first_step;
    first_batch_ = run.first_batch;
    next_.assign(dispatch_ == Dispatch::parts ? static_cast<std::size_t>(workers_) : 1, first_batch_);
    sequence_numbers_ = 0;
    sent_.clear();
    refused_.clear();
    if (records_.log) records_.log->forget_workers(first_step_);
    if (dispatch_ != Dispatch::parts) begin_recorded_run();
  }

  void begin_recorded_run() {
    const auto numbers = records_.begin_run(name_in_plan(), runs_++);
    if (!records_.replay) return;
    if (records_.record) records_.record->note(name_in_plan(), numbers);
    recorded_.assign(static_cast<std::size_t>(workers_), {});
    end_batch_ = first_batch_;
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
      const auto [worker, batch] = std::pair(numbers[i], numbers[i + 1]);
      if (worker < 0 || worker >= workers_ || batch < 0 || batch >= batches_)
        throw Error("replay", "the recording gives batch " + std::to_string(batch) + " to worker " +
                                  std::to_string(worker) + ", of " + std::to_string(batches_) + " and " +
                                  std::to_string(workers_));
      recorded_[static_cast<std::size_t>(worker)].emplace_back(batch, sequence_numbers_++);
      end_batch_ = std::max(end_batch_, std::int64_t{batch} + 1);
    }
  }

  void advance() override {
    if (!is_open()) return;
    if (!(dispatch_ == Dispatch::parts ? send_parts() : send_to_free())) return;
    if (records_.log) records_.log->note_end_step(first_step_ + batch_limit() - first_batch_);
    end();
  }

  /// The batch after the last one of this run.
  std::int64_t batch_limit() const {
    if (records_.replay && dispatch_ != Dispatch::parts) return end_batch_;
    return std::min(batches_, end_step() - first_step_ + first_batch_);
  }

  std::int64_t rows_of(std::int64_t batch) const { return std::min(batch_rows_, data_.rows() - batch * batch_rows_); }

  static std::uint32_t samples_of(int worker) { return static_cast<std::uint32_t>(2 * worker); }
  static std::uint32_t infos_of(int worker) { return samples_of(worker) + 1; }
  bool has_room(int worker) const { return has_free(samples_of(worker)) && has_free(infos_of(worker)); }

  /// Sends parts of batches to workers with free slots. Returns true when all parts of the run have been sent.
  bool send_parts() {
    const auto limit = batch_limit();
    bool all = true;
    for (int worker = 0; worker < workers_; ++worker) {
      auto& next = next_[static_cast<std::size_t>(worker)];
      for (; next < limit && has_room(worker); ++next)
        send_part(worker, next, part_of_batch(rows_of(next), workers_, worker), first_step_ + next - first_batch_);
      all = all && next >= limit;
    }
    return all;
  }

  /// Sends batches to workers with free slots. Returns true when all batches have been sent and, with
  /// Dispatch::until_used, all batch infos have been returned.
  bool send_to_free() {
    if (records_.replay) return send_as_recorded();
    const auto limit = batch_limit();
    auto& next = next_.front();
    while (next < limit || !refused_.empty()) {
      const auto worker = next_free();
      if (!worker) return false;
      const auto batch = refused_.empty() ? next++ : refused_.extract(refused_.begin()).value();
      if (records_.record) records_.record->note(name_in_plan(), std::array{*worker, static_cast<std::int32_t>(batch)});
      send_part(*worker, batch, {0, rows_of(batch)}, first_step_ + sequence_numbers_++);
    }
    return dispatch_ == Dispatch::first_free || sent_.empty();
  }

  /// Like send_to_free(), but each batch goes to the worker, and gets the sequence number, that the recording has for
  /// it. Throws Error if that worker is lost.
  bool send_as_recorded() {
    bool all = true;
    for (int worker = 0; worker < workers_; ++worker) {
      auto& next = recorded_[static_cast<std::size_t>(worker)];
      for (; !next.empty() && has_room(worker); next.pop_front())
        send_part(worker, next.front().first, {0, rows_of(next.front().first)}, first_step_ + next.front().second);
      if (!next.empty() && is_lost(worker))
        throw Error("replay", "the recording gives batches to worker " + std::to_string(worker) + ", which is lost");
      all = all && next.empty();
    }
    return all && (dispatch_ == Dispatch::first_free || sent_.empty());
  }

  /// Whether the process of the worker is lost. Only the worker gets its samples; shards get its batch infos, too.
  bool is_lost(int worker) const { return lost_output(samples_of(worker)); }

  /// Returns the next worker, round robin, that has free slots in both of its outputs, or nothing. A lost worker has
  /// none. Throws Error if all workers are lost.
  std::optional<int> next_free() {
    bool all_lost = true;
    for (int i = 1; i <= workers_; ++i) {
      const int worker = (last_ + i) % workers_;
      if (has_room(worker)) return last_ = worker;
      all_lost = all_lost && is_lost(worker);
    }
    if (all_lost) throw Error("dispatcher", "all workers are lost");
    return std::nullopt;
  }

  void send_part(int worker, std::int64_t batch, BatchPart part, std::int64_t sequence_number) {
    const Tensor samples(Shape{part.rows}, DType::int32), info(BatchInfo::info().shape, BatchInfo::info().dtype);
    const auto step = first_step_ + batch - first_batch_;
    if (records_.log && dispatch_ != Dispatch::parts) records_.log->note_worker(step, worker);
    order_.copy(batch * batch_rows_ + part.first, samples.mutable_data<std::int32_t>());
    BatchInfo{part.rows, rows_of(batch), part.first, step}.write(info);
    send_output(samples_of(worker), samples, sequence_number);
    sent_[{infos_of(worker), send_output(infos_of(worker), info, sequence_number)}] = batch;
  }

  void on_slot_free(std::uint32_t output, std::uint32_t slot) override {
    const auto sent = sent_.find({output, slot});
    if (sent == sent_.end()) return;
    if (was_refused(output, slot)) refused_.insert(sent->second);
    sent_.erase(sent);
  }

  const Dataset data_;
  const std::uint64_t seed_;
  const int workers_;
  const Dispatch dispatch_;
  const RunRecords records_;
  const std::int64_t batch_rows_, batches_;  // batch_rows_: the largest number of rows of a batch
  SampleOrder order_;
  std::int64_t first_step_ = 0, first_batch_ = 0;
  std::vector<std::int64_t> next_;  // the next batch to send: by worker with Dispatch::parts, else one for all workers
  int last_ = 0;                    // the worker that got a batch last
  std::int64_t sequence_numbers_ = 0;  // number of sequence numbers given in this run; unused with Dispatch::parts
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> sent_;  // batch, by output and slot of its info
  std::set<std::int64_t> refused_;
  std::size_t runs_ = 0;
  std::int64_t end_batch_ = 0;  // the batch after the last one of the recorded run
  std::vector<std::deque<std::pair<std::int64_t, std::int64_t>>> recorded_;  // by worker: batch and sequence number
};

}  // namespace

ActorId add_dispatcher(Plan& plan, const std::string& source, const Dataset& data, std::uint64_t seed, int workers,
                       Dispatch dispatch, const Place& place) {
  ExternalPorts ports{.rule = FiringRule::own};
  for (int worker = 0; worker < workers; ++worker) {
    ports.outputs.push_back(sample_indices_info());
    ports.outputs.push_back(BatchInfo::info());
  }
  auto actor = external_actor("dispatcher", std::move(ports));
  actor.place = place;
  actor.task = {"dispatcher",
                source,
                {{"workers", std::int64_t{workers}},
                 {"dispatch", static_cast<std::int64_t>(dispatch)},
                 {"seed", static_cast<std::int64_t>(seed)},
                 {"rows", data.rows()},
                 {"batch_rows", data.batch_rows()}}};
  actor.spawn_external = [=](caf::actor_system& system, SpawnContext& context) {
    const RunRecords records{context.shard_log, context.record, context.replay};
    return caf::actor_cast<caf::actor>(
        system.spawn<BatchDispatcher>(context.source(source), seed, workers, dispatch, records));
  };
  const auto dispatcher = plan.add(std::move(actor));
  plan.add_edges(dispatcher, kAhead);
  return dispatcher;
}

}  // namespace troupe
