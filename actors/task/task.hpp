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

/// No limit: as a number of steps, or as the step at which a run ends.
inline constexpr std::int64_t kLastStep = std::numeric_limits<std::int64_t>::max();

/// The steps of one run.
struct RunInfo {
  std::int64_t first_step = 0;
  /// Sources emit at most so many steps. By default the run ends when they have no more data.
  std::int64_t max_steps = kLastStep;
  std::int64_t epoch = 0;
  /// The batch of the epoch that the first step reads.
  std::int64_t first_batch = 0;

  bool operator==(const RunInfo&) const = default;
};

/// The step after `count` steps of which the first is `first`, at most kLastStep.
inline std::int64_t step_after(std::int64_t first, std::int64_t count) {
  return count > kLastStep - first ? kLastStep : first + count;
}

/// The step before which a run ends, at most.
inline std::int64_t end_of(const RunInfo& run) {
  return step_after(run.first_step, run.max_steps);
}

/// The tensors and the stream of one firing of a task. Tensors have the rows of this firing.
struct Firing {
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  std::int64_t step = 0;
  std::int64_t rows = 0;
  KernelContext context;
  /// The collective on the edge from a conductor to the ranks of its process: the conductor's task sets it, the tasks
  /// of the ranks read it. The handle is null if the conductor could not begin; there is none for other tasks.
  std::shared_ptr<CollectiveStart>* start = nullptr;
};

/// The body of a plan actor: what it does when it fires. It belongs to one actor and is used on one thread at a time.
class Task {
 public:
  virtual ~Task() = default;

  /// True if it only launches work on the stream of its firing, on tensors of the stream's device. Any other task reads
  /// and writes host memory, so its actor has its place on a CPU device; see host_side().
  virtual bool runs_on_device() const { return false; }

  /// True if its inputs may lie on other devices than its place: they are not copied there.
  virtual bool reads_any_device() const { return false; }

  /// True if fire() does nothing but launch kernels, copies and zeroing on its stream, the same ones for the same
  /// number of rows and the same memory, so that they can be captured and launched again without it. They touch no
  /// memory of the device but inputs, outputs and scratch, except to read what nobody writes: captured work that shares
  /// none of these runs concurrently.
  virtual bool capturable() const { return false; }
  /// What the last fire() launched needs for as long as it may be launched again without it; null if nothing.
  virtual std::shared_ptr<const void> resources() const { return nullptr; }

  /// Called before the first firing with this number of rows; kernels are prepared here.
  virtual void prepare(std::int64_t /*rows*/) {}
  /// Scratch memory for the firings prepared so far, in bytes.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// A new run starts. `wake` may be called on any thread, until the task dies, to have advance() called.
  virtual void begin(const RunInfo& /*run*/, std::function<void()> /*wake*/) {}

  /// Sources, which have no inputs that come from other actors, say how many rows the next firing has; none: no more.
  virtual bool is_source() const { return false; }
  virtual std::optional<std::int64_t> next_rows() { return std::nullopt; }
  /// For sources: how many steps the run that has just begun can have, if that is known. Several sources of a plan then
  /// end at the same step; one that learns its end only when it comes there may leave the others a few steps ahead.
  virtual std::optional<std::int64_t> steps_left() const { return std::nullopt; }

  /// Fires. False: not complete yet; advance() follows. Throws if it cannot be done, and EndRun if it is done but the
  /// run should end.
  virtual bool fire(const Firing& firing) = 0;
  /// Continues a firing that is not complete.
  virtual bool advance(const Firing& /*firing*/) { return true; }
  /// Called instead of fire() in a step that has failed before this task, once a step. The tensors of the firing may be
  /// missing.
  virtual void skip(const Firing& /*firing*/, const FailurePtr& /*failure*/) {}
  /// A text that says what an incomplete firing waits for.
  virtual std::string waits_for() const { return {}; }
};

}  // namespace troupe
