#include "troupe/actors/task/op_task.hpp"

#include <algorithm>

namespace troupe {

void OpTask::prepare(std::int64_t rows) {
  if (kernels_.find(rows) != nullptr) return;
  const auto call = with_rows(call_, rows);
  const auto& kernel = kernels_.add(rows, has_empty_tensor(call) ? nullptr : make_kernel(call, device_));
  if (kernel) scratch_bytes_ = std::max(scratch_bytes_, kernel->scratch_bytes());
  // The cache may have dropped the kernel that fire() ran last, so the next fire() looks its kernel up again.
  rows_ = -1;
}

bool OpTask::fire(const Firing& firing) {
  if (firing.rows != rows_) {
    prepare(firing.rows);
    rows_ = firing.rows;
    kernel_ = *kernels_.find(rows_);
  }
  if (kernel_ != nullptr)
    kernel_->run(firing.context, firing.inputs.first(call_.inputs.size()), firing.outputs.first(call_.outputs.size()));
  else if (call_.op->kind != OpKind::update)
    fill_with_zeros(firing.context.stream, firing.outputs);
  return true;
}

std::unique_ptr<Task> make_op_task(const PlanActor& actor, SpawnContext&) {
  return std::make_unique<OpTask>(actor.task.call.value(), actor.place.device);
}

}  // namespace troupe
