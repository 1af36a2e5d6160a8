#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/plan/checked_plan.hpp"
#include "troupe/actors/ports/participant.hpp"
#include "troupe/actors/segment/arena_turn.hpp"
#include "troupe/actors/segment/segment_firing.hpp"
#include "troupe/actors/system/trace.hpp"
#include "troupe/actors/threads/busy_threads.hpp"
#include "troupe/actors/threads/ready_queue.hpp"

namespace troupe {

/// The arguments with which a segment actor is spawned.
struct ExecutorSetup {
  CheckedPlan plan;
  /// The indices in Plan::segments of the segments that the actor runs.
  std::vector<std::int32_t> segments;
  /// The buffers that edges share, by PlanEdge::shared_buffer. A buffer of another process has an empty handle.
  std::vector<Tensor> shared_buffers;
  std::shared_ptr<SpawnContext> context;
  std::shared_ptr<ExecutorStatus> status;
  std::shared_ptr<Trace> trace;
  /// The core to which the actor's own thread is bound. -1: the thread is not bound, or the actor runs on the threads
  /// of the actor system.
  int core = -1;
  /// Time for which the actor's own thread polls for messages before it sleeps. A sleeping thread costs the next
  /// message a wake-up.
  std::chrono::microseconds busy_poll{0};
  /// Counts the actor's own thread among the awake threads. Null: the actor runs on the threads of the actor system.
  std::shared_ptr<BusyThreads> busy_thread = nullptr;
};

/// The executor: an actor that runs segments, each of which is a group of a plan's actors that fire together. In the
/// grain per-op it runs one segment on the host, all segments of a device, or all conductors of a process, which begin
/// its collectives; in the grain chains it may run several segments on the host, of which one runs at a time (see
/// share_executors.hpp); in the grain fused it runs all segments of a place. A segment whose actor has PlanActor::alone
/// has an executor of its own. The executor fires a segment when every input holds a tensor and every
/// output has a free slot. Between two tasks of a segment it turns to its other segments if one of them is ready, or if
/// a message waits that may make one ready. Of the segments that share an arena it finishes a firing of one before it
/// begins a firing of another one.
class SegmentActor final : public Participant {
 public:
  SegmentActor(caf::actor_config& config, ExecutorSetup setup);

  const char* name() const override { return "troupe.segment"; }

 private:
  enum class Phase {
    idle,
    queued,   ///< in ready_: it can fire, or was interrupted between two tasks
    running,  ///< its tasks run now
    pending,  ///< a task has fired and is not complete; an Advance message continues it
  };

  /// A segment, its firings, and its state in the current run.
  struct State {
    std::uint32_t number;  // index in segments_
    std::unique_ptr<Segment> segment;
    PortRange ports;
    SegmentFiring firing;
    bool is_source = !segment->tasks().sources().empty();
    bool shares_arena = false;
    Phase phase = Phase::idle;
    /// The number of inputs without a tensor and of outputs without a free slot.
    std::uint32_t blockers = 0;
    /// True once the segment fires no more in this run.
    bool ended = true;
    /// True once the segment has ended, every slot of its outputs is free, and the work that it has launched is
    /// complete.
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
  /// A text that names the tensor, slot or work for which a segment waits, or says that the segment has ended, is
  /// paused or is about to fire.
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

  /// Returns a function that posts Advance for the segment to this actor, if the actor still exists. The function may
  /// be called on any thread.
  std::function<void()> advance_later(const State& segment);

  ExecutorSetup setup_;
  std::vector<State> segments_;
  std::vector<std::uint32_t> segment_of_input_, segment_of_output_;
  ReadyQueue ready_;
  ArenaTurn arena_turn_;
  std::int64_t end_step_ = 0;
  bool sources_open_ = false;
  bool continuing_ = false;
  bool working_ = false;
  std::vector<std::uint32_t> may_be_drained_;  // indices in segments_, of segments of which an input has ended
  bool ending_ = false;
};

}  // namespace troupe
