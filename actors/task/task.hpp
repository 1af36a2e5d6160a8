#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "troupe/ops/graph/kernel.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

struct CollectiveStart;

/// Stands for "no limit", both as a number of steps and as the step at which a run ends.
inline constexpr std::int64_t kLastStep = std::numeric_limits<std::int64_t>::max();

/// The steps of one run.
struct RunInfo {
  std::int64_t first_step = 0;
  /// The maximum number of steps that sources emit. By default the run ends when the sources have no more data.
  std::int64_t max_steps = kLastStep;
  std::int64_t epoch = 0;
  /// The number, within the epoch, of the batch that the first step reads.
  std::int64_t first_batch = 0;

  bool operator==(const RunInfo&) const = default;
};

/// The step after the `count` steps that begin with `first`; at most kLastStep.
inline std::int64_t step_after(std::int64_t first, std::int64_t count) {
  return count > kLastStep - first ? kLastStep : first + count;
}

/// The step before which a run ends at the latest.
inline std::int64_t end_of(const RunInfo& run) {
  return step_after(run.first_step, run.max_steps);
}

/// The tensors and the stream of one firing of a task. Tensors with a batch axis have `rows` rows.
struct Firing {
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  std::int64_t step = 0;
  std::int64_t rows = 0;
  KernelContext context;
  /// The collective that a conductor, an actor that begins collectives for the ranks of its process, sends to the
  /// actors of these ranks. The conductor's task sets `*start`, which stays null if the collective cannot begin; the
  /// task of a rank reads it. `start` is null for all other tasks.
  std::shared_ptr<CollectiveStart>* start = nullptr;
};

/// The body of a plan actor, run in each of its firings. It belongs to one actor and is used on one thread at a time.
class Task {
 public:
  virtual ~Task() = default;

  /// True if the task only launches work on the stream of its firing, on tensors of the stream's device. Any other task
  /// reads and writes host memory, so its actor must have its place on a CPU device; see host_side() in
  /// actors/plan/place.hpp.
  virtual bool runs_on_device() const { return false; }

  /// True if the task reads inputs on any device. An input that lies on another device than the task's place is then
  /// not copied to the place.
  virtual bool reads_any_device() const { return false; }

  /// True if fire() only launches kernels, copies and zeroing on its stream, the same ones for the same number of rows
  /// and the same memory, so that they can be captured and launched again without fire(). The captured work may access
  /// inputs, outputs and scratch, and may read other memory of the device to which no work ever writes. Captured works
  /// of several tasks that share no inputs, outputs or scratch run concurrently.
  virtual bool capturable() const { return false; }
  /// The objects that the work of the last fire() refers to. The caller keeps them as long as the captured work may be
  /// launched again. Null if there are none.
  virtual std::shared_ptr<const void> resources() const { return nullptr; }

  /// Prepares kernels for firings with this number of rows. Called before the first such firing.
  virtual void prepare(std::int64_t /*rows*/) {}
  /// Scratch memory for the firings prepared so far, in bytes.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// Begins a new run. `wake` requests a call of advance(); it may be called on any thread until the task is destroyed.
  virtual void begin(const RunInfo& /*run*/, std::function<void()> /*wake*/) {}

  /// True for sources, which have no inputs from other actors.
  virtual bool is_source() const { return false; }
  /// For sources: the number of rows of the next firing; std::nullopt after the last firing.
  virtual std::optional<std::int64_t> next_rows() { return std::nullopt; }
  /// For sources: the number of steps for which there is data in the run that begin() has begun; std::nullopt if the
  /// number is unknown. If all sources of a plan return a number, they end at the same step. If one does not, it may
  /// end when other sources are a few steps ahead.
  virtual std::optional<std::int64_t> steps_left() const { return std::nullopt; }

  /// Does the work of a firing. Returns false if the firing is not complete: advance() is called later. Throws if the
  /// work fails, and EndRun if the work is done but the run should end.
  virtual bool fire(const Firing& firing) = 0;
  /// Continues a firing that is not complete, after a call of `wake`. Returns whether the firing is complete now.
  virtual bool advance(const Firing& /*firing*/) { return true; }
  /// Called once instead of fire() in a step that has failed before this task fired. The tensors of the firing may be
  /// null.
  virtual void skip(const Firing& /*firing*/, const FailurePtr& /*failure*/) {}
  /// Returns a text, for reports on stalled runs, that names the work for which an incomplete firing waits.
  virtual std::string waits_for() const { return {}; }
};

}  // namespace troupe
