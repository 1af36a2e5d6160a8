#include "troupe/actors/run/op_task.hpp"

#include <algorithm>

namespace troupe {

void OpTask::prepare(std::int64_t rows) {
  if (kernels_.contains(rows)) return;
  auto concrete = call_;
  for (auto& info : concrete.inputs) info.shape = info.shape.with_rows(rows);
  for (auto& info : concrete.outputs) info.shape = info.shape.with_rows(rows);
  kernels_[rows] = has_empty_tensor(concrete) ? nullptr : make_kernel(concrete, device_);
}

std::size_t OpTask::scratch_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [rows, kernel] : kernels_)
    if (kernel) bytes = std::max(bytes, kernel->scratch_bytes());
  return bytes;
}

bool OpTask::fire(const Firing& firing) {
  if (firing.rows != rows_) {
    prepare(firing.rows);
    rows_ = firing.rows;
    kernel_ = kernels_[rows_].get();
  }
  if (kernel_ != nullptr)
    kernel_->run(firing.inputs.first(call_.inputs.size()), firing.outputs, firing.scratch);
  else if (call_.op->kind != OpKind::update)
    fill_with_zeros(firing.outputs);
  return true;
}

}  // namespace troupe
