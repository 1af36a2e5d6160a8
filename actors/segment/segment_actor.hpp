#pragma once

#include <memory>
#include <vector>

#include "troupe/actors/ports/participant.hpp"
#include "troupe/actors/segment/segment.hpp"
#include "troupe/actors/system/trace.hpp"
#include "troupe/actors/threads/busy_threads.hpp"
#include "troupe/actors/threads/ready_queue.hpp"

namespace troupe {

/// What a segment actor is spawned with.
struct ExecutorSetup {
  std::shared_ptr<const Plan> plan;
  std::vector<std::int32_t> segments;
  /// The buffers that edges of the plan share.
  std::vector<Tensor> shared_buffers;
  std::shared_ptr<SpawnContext> context;
  std::shared_ptr<ExecutorStatus> status;
  std::shared_ptr<Trace> trace;
  /// The core that the actor's own thread is bound to; -1: it runs on the threads of the actor system.
  int core = -1;
  /// How long its own thread looks for messages before it sleeps, which costs the next message a wake-up.
  std::chrono::microseconds busy_poll{0};
  /// Counts the actor's own thread, if it has one.
  std::shared_ptr<BusyThreads> busy_thread = nullptr;
};

/// The executor: an actor that runs segments: one of one op in the per-op grain on the host, all those of a place on a
/// device and in the fused grain.
/// It fires a segment when every input holds a tensor and every output has a free slot, and between two tasks checks
/// its mailbox if another of its segments may be ready.
class SegmentActor final : public Participant {
 public:
  SegmentActor(caf::actor_config& config, ExecutorSetup setup);

  const char* name() const override { return "troupe.segment"; }

 private:
  enum class State { idle, queued, running, pending };

  struct SegmentState {
    std::unique_ptr<Segment> work;
    std::uint32_t first_input, first_output;
    std::vector<Arrival> current;             // what this firing took, by input
    std::vector<std::uint32_t> current_slot;  // what this firing fills, by output
    /// For outputs in place of an input: what arrived there, by slot of the output.
    std::vector<std::vector<Arrival>> kept;
    State state = State::idle;
    /// Inputs without a tensor and outputs without a free slot.
    std::uint32_t blockers = 0;
    std::size_t task = 0;
    /// Sticky: state carried over from a failed step is invalid.
    FailurePtr failure;
    std::int64_t fired = 0;
    bool is_source = false;
    bool ended = true;
    bool finished = true;

    std::uint32_t inputs() const { return static_cast<std::uint32_t>(current.size()); }
    std::uint32_t outputs() const { return static_cast<std::uint32_t>(current_slot.size()); }
  };

  void on_wired() override;
  std::int64_t on_prepare(const PrepareRun& order) override;
  std::int64_t on_pause() override;
  void on_run_until(std::int64_t end_step) override;
  void on_stop() override;
  void describe(StallReport& report) override;
  caf::message_handler own_handlers() override;

  void on_arrival(std::uint32_t input) override;
  void on_free(std::uint32_t output, std::uint32_t slot) override;
  void on_ended(std::uint32_t input) override;

  std::int64_t prepare_segment(std::uint32_t number, const RunInfo& run);
  void send_tokens(SegmentState& segment);
  void unblock(std::uint32_t segment);

  // Firing.
  void work() override;
  bool may_fire(const SegmentState& segment) const;
  void make_ready(std::uint32_t segment);
  void fire(std::uint32_t segment);
  bool begin_firing(SegmentState& segment);
  bool take_rows(SegmentState& segment, std::int64_t& rows);
  void check_surrendered(const SegmentState& segment, std::uint32_t output) const;
  void bind_firing(SegmentState& segment, std::int64_t rows);
  void send_output(SegmentState& segment, std::uint32_t output);
  void finish_firing(std::uint32_t segment);
  bool is_kept(const SegmentState& segment, std::uint32_t input) const;
  void end_if_drained(SegmentState& segment);
  void end(SegmentState& segment);
  void end_drained();
  void report_if_finished(SegmentState& segment);
  void poll_mailbox();

  // The tasks of a firing.
  void run_tasks(std::uint32_t segment);
  std::size_t run_some(SegmentState& segment);
  std::size_t run_untraced(SegmentState& segment);
  bool run_task(SegmentState& segment, bool continued);
  std::size_t run_captured(SegmentState& segment);
  template <class Function>
  void guard(SegmentState& segment, std::size_t task, Function function);
  void fail(SegmentState& segment, std::size_t task, const std::exception_ptr& error);
  void trace_tasks(const SegmentState& segment, std::size_t end, Trace::Clock::time_point begin);

  std::int64_t step_of(const SegmentState& segment) const { return first_step_ + segment.fired; }
  bool is_work_complete(SegmentState& segment);
  bool has_finished() const;
  std::string waits_for(SegmentState& segment);

  ExecutorSetup setup_;
  std::vector<SegmentState> segments_;
  std::vector<std::uint32_t> segment_of_input_, segment_of_output_;
  ReadyQueue ready_;
  std::int64_t first_step_ = 0;
  std::int64_t end_step_ = 0;
  bool sources_open_ = false;
  bool continuing_ = false;
  bool working_ = false;
  std::vector<std::uint32_t> may_be_drained_;  // segments of which an input has ended
  bool ending_ = false;
};

/// The one place where code of tasks is run: whatever it throws becomes the failure of this step.
template <class Function>
void SegmentActor::guard(SegmentState& segment, std::size_t task, Function function) {
  try {
    function();
  } catch (...) {
    fail(segment, task, std::current_exception());
  }
}

}  // namespace troupe
