#include "troupe/tests/plans/faulty_task.hpp"

#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe::testing {

namespace {

/// Does what another task does, but for one fault.
class FaultyTask final : public Task {
 public:
  FaultyTask(std::unique_ptr<Task> task, Fault fault) : task_(std::move(task)), fault_(std::move(fault)) {}

  void prepare(std::int64_t rows) override { task_->prepare(rows); }
  std::size_t scratch_bytes() const override { return task_->scratch_bytes(); }
  void begin(const RunInfo& run, std::function<void()> wake) override {
    step_ = run.first_step;
    if (fault_.place == FaultPlace::begin) fault_.raise();
    task_->begin(run, std::move(wake));
  }
  bool is_source() const override { return task_->is_source(); }
  std::optional<std::int64_t> next_rows() override {
    if (fault_.place == FaultPlace::next_rows && step_++ == fault_.step) fault_.raise();
    return task_->next_rows();
  }
  bool fire(const Firing& firing) override {
    if (fault_.place == FaultPlace::fire && firing.step == fault_.step) fault_.raise();
    return task_->fire(firing);
  }

 private:
  std::unique_ptr<Task> task_;
  Fault fault_;
  std::int64_t step_ = 0;
};

}  // namespace

const std::vector<Thrown>& things_to_throw() {
  static const std::vector<Thrown> things{
      {[] { throw Error("disk", "is gone"); }, "[disk] is gone"},
      {[] { throw std::out_of_range("too far"); }, "too far"},
      {[] { throw 1; }, "not a std::exception"},
      {[] { throw std::string("a string"); }, "a string"},
      {[] { throw "a literal"; }, "a literal"},
      {[] { throw std::bad_alloc(); }, "bad_alloc"},
  };
  return things;
}

Plan with_fault(Plan plan, const Fault& fault) {
  auto& actor = plan.actors.at(static_cast<std::size_t>(fault.actor));
  actor.make_task = [make = actor.make_task, fault](const PlanActor& self, SpawnContext& context) {
    return std::make_unique<FaultyTask>(make(self, context), fault);
  };
  return plan;
}

}  // namespace troupe::testing
