#include "troupe/actors/segment/segment.hpp"

#include <algorithm>

#include "troupe/actors/segment/task_registry.hpp"
#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

constexpr std::int64_t kUnbound = -1;

/// Memory of a segment. An error says for what it was wanted.
Tensor bytes_for(const std::string& what, Device device, std::size_t bytes) {
  try {
    return Tensor(Shape{static_cast<std::int64_t>(bytes)}, DType::uint8, device);
  } catch (const Error& error) {
    throw Error(what, error.what());
  }
}

/// The actor whose output is the largest of the values that only the segment sees.
std::string maker_of_largest(const Plan& plan, const PlanSegment& segment, const SegmentLayout& layout) {
  std::string maker = segment.name;
  std::size_t most = 0;
  for (std::size_t task = 0; task < layout.tasks.size(); ++task)
    for (const auto& output : layout.tasks[task].outputs) {
      const auto bytes = bytes_of(output.info, plan.max_rows);
      if (output.kind != ArgumentPlace::Kind::arena || bytes <= most) continue;
      most = bytes;
      maker = plan.actors[segment.actors[task]].name;
    }
  return maker;
}

}  // namespace

Segment::Segment(const Plan& plan, const PlanSegment& segment, std::span<const Tensor> shared_buffers,
                 SegmentStreams& streams, SpawnContext& context)
    : name_(segment.name), store_(context.store), layout_(lay_out(plan, segment)), max_rows_(plan.max_rows) {
  for (auto edge : layout_.ports) {
    port_infos_.push_back(plan.edges[edge].info);
    if (batch_port_ == kNone && port_infos_.back().shape.has_batch())
      batch_port_ = static_cast<std::int32_t>(port_infos_.size() - 1);
  }
  for (const auto& output : layout_.outputs) output_infos_.push_back(plan.edges[output.edge].info);
  stream_ = streams.of(segment);
  own_memory_ = !backend_of(segment.place.device).host_accessible();
  if (own_memory_) move_constants();
  if (own_memory_) uploads_.emplace(segment.place.device, port_infos_, max_rows_);
  arena_ =
      bytes_for("inner values of " + name_ + ", the largest that of '" + maker_of_largest(plan, segment, layout_) + "'",
                segment.place.device, layout_.arena_bytes);
  scratch_ = bytes_for(name_, segment.place.device, 0);
  make_tasks(plan, segment, context);
  allocate_slots(plan, shared_buffers, segment.place);
  if (own_memory_) allocate_host_slots(plan, segment.place);
  if (own_memory_) find_events(plan, segment, streams);
  if (stream_->can_capture()) find_stretches(plan, segment.place);
  sent_by_captured_.resize(layout_.outputs.size());
  find_token_parameters(plan);
  binding_ = &binding_for(plan.max_rows);
}

void Segment::make_tasks(const Plan& plan, const PlanSegment& segment, SpawnContext& context) {
  std::uint32_t argument = 0;
  for (auto id : segment.actors) {
    const auto& actor = plan.actors[id];
    const auto inputs = static_cast<std::uint32_t>(actor.inputs.size());
    const auto outputs = static_cast<std::uint32_t>(actor.outputs.size());
    tasks_.push_back(
        {make_task(actor, context), &actor, argument, inputs, outputs, layout_.tasks[tasks_.size()].sends, {}});
    tasks_.back().start = start_of(plan, actor);
    argument += inputs + outputs;
    auto& task = *tasks_.back().task;
    if (task.is_source() != (actor.pacing == Pacing::source))
      throw Error("plan", "'" + actor.name + "' " +
                              (task.is_source() ? "has the task of a source but does not decide when the run ends"
                                                : "is a source but its task is not"));
    if (own_memory_ && !task.runs_on_device())
      throw Error("plan", "'" + actor.name + "' runs on the host, but its place is " + to_string(actor.place) +
                              "; place it on " + to_string(host_side(actor.place)));
    reads_any_device_ = reads_any_device_ || task.reads_any_device();
    if (task.is_source()) sources_.push_back(tasks_.size() - 1);
    for (const auto& output : actor.outputs)
      if (output.parameter) tasks_.back().writes.push_back(store_->counter(*output.parameter));
  }
}

/// The parameter; if it lies elsewhere, a copy on the device.
const Tensor& Segment::parameter(const ParameterRef& ref) {
  const auto& stored = store_->borrowed(ref);
  if (!own_memory_ || stored.device() == stream_->device()) return stored;
  auto& copied = parameter_copies_[ref];
  if (!copied) copied = stored.to(stream_->device());
  return copied;
}

std::int64_t Segment::begin_task(std::size_t i, const RunInfo& run, const std::function<void()>& wake) {
  if (i == 0) last_work_.reset();
  auto& task = *tasks_[i].task;
  task.begin(run, wake);
  const auto left = task.is_source() ? task.steps_left() : std::nullopt;
  return left && *left < kLastStep - run.first_step ? run.first_step + *left : kLastStep;
}

std::optional<std::int64_t> Segment::next_rows(std::size_t i) {
  return tasks_[i].task->next_rows();
}

void Segment::grow_scratch() {
  std::vector<std::size_t> bytes;
  for (const auto& entry : tasks_) bytes.push_back(entry.task->scratch_bytes());
  const auto areas = ScratchAreas::on(arena_.device(), bytes);
  if (areas.total() > scratch_.bytes()) scratch_ = bytes_for("kernels of " + name_, arena_.device(), areas.total());
  std::size_t users = 0;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if (bytes[i] > 0) tasks_[i].scratch_offset = users++ % areas.count * areas.bytes;
}

void Segment::bind_argument(Binding& binding, std::size_t argument, const ArgumentPlace& place) {
  const auto shape = place.info.shape.with_rows(binding.rows);
  switch (place.kind) {
    case ArgumentPlace::Kind::arena:
      binding.arguments[argument] = arena_.view(shape, place.info.dtype, place.byte_offset);
      break;
    case ArgumentPlace::Kind::constant:
      binding.arguments[argument] = place.constant.view(shape, place.info.dtype, place.byte_offset);
      break;
    case ArgumentPlace::Kind::parameter:
      binding.arguments[argument] = parameter(*place.parameter).view(shape, place.info.dtype, place.byte_offset);
      break;
    case ArgumentPlace::Kind::port:
      binding.of_port[place.index].push_back({argument, &place, place.info == port_infos_[place.index]});
      break;
    case ArgumentPlace::Kind::output: {
      SlotArgument by_slot{argument, {}};
      for (const auto& slot : slots_[place.index])
        if (slot) by_slot.by_slot.push_back(slot.view(shape, place.info.dtype, place.byte_offset));
      binding.of_output[place.index].push_back(std::move(by_slot));
      break;
    }
  }
}

Segment::Binding Segment::make_binding(std::int64_t rows) {
  for (auto& entry : tasks_) entry.task->prepare(rows);
  grow_scratch();
  Binding binding;
  binding.rows = rows;
  binding.of_port.resize(layout_.ports.size());
  binding.of_output.resize(layout_.outputs.size());
  binding.bound_slot.assign(layout_.outputs.size(), kUnbound);
  if (!tasks_.empty())
    binding.arguments.resize(tasks_.back().first_argument + tasks_.back().inputs + tasks_.back().outputs);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    std::size_t argument = tasks_[i].first_argument;
    for (const auto& place : layout_.tasks[i].inputs) bind_argument(binding, argument++, place);
    for (const auto& place : layout_.tasks[i].outputs) bind_argument(binding, argument++, place);
  }
  for (std::size_t output = 0; output < slots_.size(); ++output) {
    auto& sent = binding.sent.emplace_back();
    for (const auto& slot : slots_[output])
      sent.push_back(slot ? slot.view(output_infos_[output].shape.with_rows(rows)) : Tensor());
  }
  return binding;
}

Segment::Binding& Segment::binding_for(std::int64_t rows) {
  auto* found = bindings_.find(rows);
  return found != nullptr ? *found : bindings_.add(rows, make_binding(rows));
}

void Segment::start(std::int64_t rows, std::int64_t step) {
  if (rows < 0 || rows > max_rows_)
    throw Error(name_, std::to_string(rows) + " rows came where the plan has room for " + std::to_string(max_rows_));
  if (binding_ == nullptr || binding_->rows != rows) binding_ = &binding_for(rows);
  step_ = step;
  has_fired_ = true;
  if (own_memory_) uploads_->start();
}

void Segment::set_input(std::int32_t port, const Tensor& arrived) {
  const auto& info = port_infos_[port];
  if (info.shape.has_batch() && arrived.shape()[0] != binding_->rows)
    throw Error(name_, "inputs of " + std::to_string(binding_->rows) + " and " + std::to_string(arrived.shape()[0]) +
                           " rows came together");
  if (!own_memory_ && !arrived.host_accessible())
    throw Error(name_, "reads host memory, but " + to_string(arrived) + " came");
  const bool is_copied = is_elsewhere(arrived);
  const auto uploaded = is_copied ? uploads_->upload(port, arrived) : Tensor();
  if (is_copied) stream_->wait(uploads_->uploaded(port));
  const auto& tensor = is_copied ? uploaded : arrived;
  for (const auto& at : binding_->of_port[port]) {
    const auto& place = *at.place;
    auto& argument = binding_->arguments[at.argument];
    if (at.whole)
      argument = tensor;
    else
      tensor.view_into(argument, place.info.shape.with_rows(binding_->rows), place.info.dtype, place.byte_offset);
  }
}

void Segment::set_output(std::int32_t output, std::uint32_t slot) {
  if (binding_->bound_slot[output] == static_cast<std::int64_t>(slot)) return;
  for (const auto& at : binding_->of_output[output])
    if (!at.by_slot.empty()) binding_->arguments[at.argument] = at.by_slot[slot];
  binding_->bound_slot[output] = slot;
}

SentTensor Segment::sent_tensor(std::int32_t output, std::uint32_t slot, const Tensor& port_tensor) {
  auto& tensor = binding_->sent[output][slot];
  const auto& made = layout_.outputs[output];
  const auto& info = output_infos_[output];
  if (made.alias_port != kNone)
    port_tensor.view_into(tensor, info.shape.with_rows(binding_->rows), info.dtype, made.alias_offset);
  if (copies_parameter_[output]) copy_parameter(output, slot);
  note_version(output);
  sent_rows_[output][slot] = binding_->rows;
  auto sending = sent(output, slot, tensor);
  if (const auto start = starts_.find(made.edge); start != starts_.end()) sending.start = start->second;
  return sending;
}

long Segment::handles_outside(std::int32_t output, std::uint32_t slot) const {
  long outside = 0;
  bindings_.for_each([&](const Binding& binding) {
    const auto& sent = binding.sent[output][slot];
    if (sent) outside += sent.use_count() - 1;
  });
  return outside;
}

Firing Segment::firing_of(std::size_t task) {
  const auto& entry = tasks_[task];
  const std::span<const Tensor> arguments(binding_->arguments);
  return {arguments.subspan(entry.first_argument, entry.inputs),
          arguments.subspan(entry.first_argument + entry.inputs, entry.outputs),
          step_,
          binding_->rows,
          {*stream_, scratch_.address() + entry.scratch_offset},
          entry.start};
}

bool Segment::run_task(std::size_t i, bool continued) {
  auto& entry = tasks_[i];
  const auto firing = firing_of(i);
  if (entry.writes.empty()) return continued ? entry.task->advance(firing) : entry.task->fire(firing);
  for (const auto& written : entry.writes) written->begin_update();
  entry.task->fire(firing);
  for (const auto& written : entry.writes) written->finish_update();
  return true;
}

void Segment::finish() {
  for (const auto& port : binding_->of_port)
    for (const auto& at : port) {
      auto& argument = binding_->arguments[at.argument];
      if (at.whole)
        argument = Tensor();
      else
        argument.release_view();
    }
  for (auto& [edge, start] : starts_) start = nullptr;
  if (!own_memory_) return;
  if (records_firing_) fired_ = stream_->record();
  uploads_->finish(fired_);
  if (stretches_) stretches_->finish();
}

}  // namespace troupe
