#include "troupe/actors/segment/segment_program.hpp"

#include <utility>

#include "troupe/actors/segment/segment_capture.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

SegmentProgram::SegmentProgram(const Plan& plan, const PlanSegment& segment, const SegmentLayout& layout,
                               SegmentTasks tasks, SegmentMemory& memory)
    : plan_(plan),
      segment_(segment),
      layout_(layout),
      tasks_(std::move(tasks)),
      memory_(memory),
      stream_(memory.stream()) {
  for (auto edge : layout.ports) {
    port_infos_.push_back(plan.edges[edge].info);
    if (batch_port_ == kNone && port_infos_.back().shape.has_batch())
      batch_port_ = static_cast<std::int32_t>(port_infos_.size() - 1);
  }
  binding_ = &binding_for(plan.max_rows);
}

SegmentProgram::~SegmentProgram() = default;

void SegmentProgram::capture(DeviceMemory& memory) {
  if (!SegmentCapture::is_allowed()) return;
  capture_ = std::make_unique<SegmentCapture>(plan_, segment_, layout_, *this, memory);
}

SegmentBinding& SegmentProgram::binding_for(std::int64_t rows) {
  if (auto* binding = bindings_.find(rows); binding != nullptr) return *binding;
  tasks_.prepare(rows);
  scratch_ = memory_.scratch(tasks_.place_scratch(memory_.arena().device()).total());
  return bindings_.add(rows, SegmentBinding(rows, plan_, layout_, memory_));
}

void SegmentProgram::start(std::int64_t rows, std::int64_t step) {
  if (rows < 0 || rows > plan_.max_rows)
    throw Error(segment_.name,
                std::to_string(rows) + " rows came where the plan has room for " + std::to_string(plan_.max_rows));
  if (binding_->rows() != rows) binding_ = &binding_for(rows);
  step_ = step;
}

void SegmentProgram::set_input(std::int32_t port, const Tensor& arrived) {
  if (port_infos_[port].shape.has_batch() && arrived.shape()[0] != binding_->rows())
    throw Error(segment_.name, "inputs of " + std::to_string(binding_->rows()) + " and " +
                                   std::to_string(arrived.shape()[0]) + " rows came together");
  binding_->set_input(port, memory_.receive(port, arrived));
}

void SegmentProgram::set_start(std::int32_t port, const std::shared_ptr<CollectiveStart>& start) {
  tasks_.starts().set(layout_.ports[port], start);
}

std::shared_ptr<CollectiveStart> SegmentProgram::start_of(std::int32_t output) {
  return tasks_.starts().on(layout_.outputs[output].edge);
}

Firing SegmentProgram::firing_of(std::size_t task) const {
  const auto& entry = tasks_[task];
  const auto arguments = binding_->arguments();
  return {arguments.subspan(entry.first_argument, entry.inputs),
          arguments.subspan(entry.first_argument + entry.inputs, entry.outputs),
          step_,
          binding_->rows(),
          {stream_, scratch_ + entry.scratch_offset},
          entry.start};
}

bool SegmentProgram::run_task(std::size_t i, bool continued) {
  const auto& entry = tasks_[i];
  const auto firing = firing_of(i);
  if (entry.updates.empty()) return continued ? entry.task->advance(firing) : entry.task->fire(firing);
  entry.begin_update();
  entry.task->fire(firing);
  entry.finish_update();
  return true;
}

std::size_t SegmentProgram::launch_captured(std::size_t i) {
  if (i == 0) capture_->start();
  return capture_->launch(i);
}

void SegmentProgram::skip_task(std::size_t i, const FailurePtr& failure) {
  if (capture_) capture_->abandon();
  tasks_[i].task->skip(firing_of(i), failure);
}

void SegmentProgram::finish() {
  binding_->release_inputs();
  tasks_.starts().clear();
  memory_.finish_firing();
  if (capture_) capture_->finish();
}

long SegmentProgram::handles_outside(std::int32_t output, std::uint32_t slot) const {
  long handles = 0;
  bindings_.for_each([&](const SegmentBinding& binding) { handles += binding.handles_outside(output, slot); });
  return handles;
}

}  // namespace troupe
