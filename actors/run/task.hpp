#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// The steps of one run.
struct RunInfo {
  std::int64_t first_step = 0;
  /// Sources emit at most so many steps.
  std::int64_t max_steps = 0;
  std::int64_t epoch = 0;
};

/// What a task works on in one firing. Tensors have the rows of this firing.
struct Firing {
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  std::int64_t step = 0;
  std::int64_t rows = 0;
  std::byte* scratch = nullptr;
};

/// The body of a plan actor: what it does when it fires. It belongs to one actor and is used on one thread at a time.
class Task {
 public:
  virtual ~Task() = default;

  /// Called once before the first firing with this number of rows; kernels are prepared here.
  virtual void prepare(std::int64_t /*rows*/) {}
  /// Scratch memory for the firings prepared so far, in bytes.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// A new run starts. `wake` may be called on any thread, until the task dies, to have advance() called.
  virtual void begin(const RunInfo& /*run*/, std::function<void()> /*wake*/) {}

  /// Sources, which have no inputs that come from other actors, say how many rows the next firing has; none: no more.
  virtual bool is_source() const { return false; }
  virtual std::optional<std::int64_t> next_rows() { return std::nullopt; }

  /// Fires. False: not complete yet; advance() follows. Throws if it cannot be done.
  virtual bool fire(const Firing& firing) = 0;
  /// Goes on with a firing that is not complete.
  virtual bool advance(const Firing& /*firing*/) { return true; }
  /// What an incomplete firing waits for, for people.
  virtual std::string waits_for() const { return {}; }
};

/// Makes the task of an actor when the plan is spawned.
using TaskFactory = std::function<std::unique_ptr<Task>()>;

}  // namespace troupe
