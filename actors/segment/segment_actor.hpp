#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/plan/checked_plan.hpp"
#include "troupe/actors/ports/participant.hpp"
#include "troupe/actors/segment/segment_firing.hpp"
#include "troupe/actors/system/trace.hpp"
#include "troupe/actors/threads/busy_threads.hpp"
#include "troupe/actors/threads/ready_queue.hpp"

namespace troupe {

/// The arguments with which a segment actor is spawned.
struct ExecutorSetup {
  CheckedPlan plan;
  /// The segments that the actor runs, by their numbers in the plan.
  std::vector<std::int32_t> segments;
  /// The buffers that edges of the plan share.
  std::vector<Tensor> shared_buffers;
  std::shared_ptr<SpawnContext> context;
  std::shared_ptr<ExecutorStatus> status;
  std::shared_ptr<Trace> trace;
  /// The core to which the actor's own thread is bound; -1: the actor runs on the threads of the actor system.
  int core = -1;
  /// Time for which the actor's own thread polls for messages before it sleeps. A sleeping thread costs the next
  /// message a wake-up.
  std::chrono::microseconds busy_poll{0};
  /// Counts the actor's own thread, if it has one.
  std::shared_ptr<BusyThreads> busy_thread = nullptr;
};

/// The executor: an actor that runs segments. In the per-op grain on the host it runs a segment of one op; on a device,
/// and in the fused grain, it runs all segments of a place. It fires a segment when every input holds a tensor and
/// every output has a free slot. Between two tasks it checks its mailbox if another of its segments may be ready.
class SegmentActor final : public Participant {
 public:
  SegmentActor(caf::actor_config& config, ExecutorSetup setup);

  const char* name() const override { return "troupe.segment"; }

 private:
  enum class Phase {
    idle,
    queued,   ///< ready, or interrupted between two tasks
    running,  ///< its tasks run
    pending,  ///< a task waits
  };

  /// A segment, its firings, and where it stands in the run.
  struct State {
    std::uint32_t number;  // among the segments of this actor
    std::unique_ptr<Segment> segment;
    PortRange ports;
    SegmentFiring firing;
    bool is_source = !segment->tasks().sources().empty();
    Phase phase = Phase::idle;
    /// Inputs without a tensor and outputs without a free slot.
    std::uint32_t blockers = 0;
    /// The segment fires no more in this run.
    bool ended = true;
    /// The segment has ended, every slot is free, and the devices have done its work.
    bool finished = true;
  };

  // Orders of the supervisor.
  void on_wired() override;
  std::int64_t on_prepare(const PrepareRun& order) override;
  std::int64_t on_pause() override;
  void on_run_until(std::int64_t end_step) override;
  void on_stop() override;
  void describe(StallReport& report) override;
  caf::message_handler own_handlers() override;
  /// The event that a segment waits for, in words.
  std::string waits_for(const State& segment) const;

  // Changes of the ports.
  void on_arrival(std::uint32_t input) override;
  void on_free(std::uint32_t output, std::uint32_t slot) override;
  void on_ended(std::uint32_t input) override;

  // The ready queue.
  void work() override;
  void unblock(State& segment);
  void queue_if_ready(State& segment);
  void poll_mailbox();

  // Firings.
  void fire(State& segment);
  void run(State& segment);
  void finish(State& segment);

  // The end of a run.
  void end(State& segment);
  void end_drained();
  void report_if_finished(State& segment);
  bool has_finished() const;

  /// A function that makes the actor continue a segment; for any thread.
  std::function<void()> advance_later(const State& segment);

  ExecutorSetup setup_;
  std::vector<State> segments_;
  std::vector<std::uint32_t> segment_of_input_, segment_of_output_;
  ReadyQueue ready_;
  std::int64_t end_step_ = 0;
  bool sources_open_ = false;
  bool continuing_ = false;
  bool working_ = false;
  std::vector<std::uint32_t> may_be_drained_;  // segments of which an input has ended
  bool ending_ = false;
};

}  // namespace troupe
