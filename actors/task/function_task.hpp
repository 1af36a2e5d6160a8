#pragma once

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/task.hpp"

namespace troupe {

/// A task that calls one function in every firing. For sinks, and for transformations of tensors that are not ops.
class FunctionTask final : public Task {
 public:
  using Function = std::function<void(const Firing&)>;
  explicit FunctionTask(Function function) : function_(std::move(function)) {}

  bool fire(const Firing& firing) override {
    function_(firing);
    return true;
  }

 private:
  Function function_;
};

inline TaskFactory function_task(FunctionTask::Function function) {
  return [function = std::move(function)](const PlanActor&, SpawnContext&) {
    return std::make_unique<FunctionTask>(function);
  };
}

/// The task of a source, made of two functions. `rows` returns the number of rows of a step, or std::nullopt if the
/// data ends before the step; `fill` writes the elements of the outputs.
class FunctionSource final : public Task {
 public:
  using Rows = std::function<std::optional<std::int64_t>(std::int64_t step)>;
  FunctionSource(Rows rows, FunctionTask::Function fill) : rows_(std::move(rows)), fill_(std::move(fill)) {}

  void begin(const RunInfo& run, std::function<void()>) override { step_ = run.first_step; }
  bool is_source() const override { return true; }
  std::optional<std::int64_t> next_rows() override { return rows_(step_++); }
  bool fire(const Firing& firing) override {
    fill_(firing);
    return true;
  }

 private:
  Rows rows_;
  FunctionTask::Function fill_;
  std::int64_t step_ = 0;
};

inline TaskFactory function_source(FunctionSource::Rows rows, FunctionTask::Function fill) {
  return [rows = std::move(rows), fill = std::move(fill)](const PlanActor&, SpawnContext&) {
    return std::make_unique<FunctionSource>(rows, fill);
  };
}

}  // namespace troupe
