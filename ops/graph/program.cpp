#include "troupe/ops/graph/program.hpp"

#include <algorithm>
#include <utility>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/float_mode.hpp"
#include "troupe/ops/graph/memory_plan.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

OpCall call_of(const Graph& graph, const Node& node, std::int64_t rows) {
  OpCall call{node.op, node.attributes, {}, {}};
  for (auto input : node.inputs) call.inputs.push_back(graph.info(input));
  for (auto output : node.outputs) call.outputs.push_back(graph.info(output));
  return with_rows(std::move(call), rows);
}

Program::Program(Graph graph, std::int64_t rows, Device device)
    : graph_(std::move(graph)), rows_(rows), device_(device), tensors_(graph_.values().size()) {
  const DefaultFloatMode mode;  // kernels round their attributes to float32
  stream_ = backend_of(device).make_stream(device);
  for (const auto& node : graph_.nodes())
    if (node.is(kConstant))
      tensors_[node.outputs[0]] = is_on_device(node.constant) ? node.constant : node.constant.to(device);
  make_steps();
  plan_values();
}

bool Program::is_on_device(const Tensor& tensor) const {
  return tensor.device() == device_ || (tensor.host_accessible() && backend_of(device_).host_accessible());
}

void Program::make_steps() {
  std::size_t scratch = 0;
  for (const auto& node : graph_.nodes()) {
    if (node.op->kind == OpKind::source || node.op->kind == OpKind::view) continue;
    if (node.op->kind == OpKind::collective)
      throw Error(node.name, "needs a communicator, which a Program does not have");
    const auto call = call_of(graph_, node, rows_);
    steps_.push_back(
        {node.name, node.op, has_empty_tensor(call) ? nullptr : make_kernel(call, device_), &node, {}, {}});
    if (const auto& kernel = steps_.back().kernel) scratch = std::max(scratch, kernel->scratch_bytes());
  }
  scratch_ = Tensor(Shape{static_cast<std::int64_t>(scratch)}, DType::uint8, device_);
}

namespace {

/// Describes a node for plan_memory(). The inputs of a pack can be computed inside the block of the pack only if each
/// input is a whole block, not a view of a part of a block.
MemoryStep memory_step(const Graph& graph, const Node& node, std::int64_t rows) {
  MemoryStep step;
  step.outputs.assign(node.outputs.begin(), node.outputs.end());
  const auto elements = [&](ValueId id) { return graph.info(id).shape.with_rows(rows).elements(); };
  bool in_place = node.op->kind == OpKind::pack;
  for (auto input : node.inputs) {
    step.inputs.push_back(graph.root_of(input));
    in_place = in_place && elements(input) == elements(step.inputs.back());
  }
  if (!in_place) return step;
  for (auto offset : pack_offsets(call_of(graph, node, rows).inputs))
    step.pack_offsets.push_back(static_cast<std::size_t>(offset) * sizeof(float));
  step.pack_offsets.pop_back();
  return step;
}

}  // namespace

void Program::plan_values() {
  std::vector<MemoryBlock> blocks(graph_.values().size());
  for (std::size_t id = 0; id < blocks.size(); ++id) {
    const auto kind = graph_.producer(static_cast<ValueId>(id)).op->kind;
    const auto& info = graph_.values()[id].info;
    blocks[id].planned = kind == OpKind::compute || kind == OpKind::pack;
    blocks[id].bytes = static_cast<std::size_t>(info.shape.with_rows(rows_).elements()) * size_of(info.dtype);
  }
  for (const auto& named : graph_.outputs()) blocks[graph_.root_of(named.value)].kept = true;
  std::vector<MemoryStep> steps;
  for (const auto& step : steps_) steps.push_back(memory_step(graph_, *step.node, rows_));
  const auto plan = plan_memory(steps, blocks);
  const Tensor arena(Shape{static_cast<std::int64_t>(plan.arena_bytes)}, DType::uint8, device_);
  for (std::size_t id = 0; id < blocks.size(); ++id) {
    if (!blocks[id].planned) continue;
    auto place = plan.placements[id];
    for (auto parent = place.parent; parent != BlockPlacement::kArena; parent = plan.placements[parent].parent)
      place.offset += plan.placements[parent].offset;
    const auto& info = graph_.values()[id].info;
    tensors_[id] = arena.view(info.shape.with_rows(rows_), info.dtype, place.offset);
  }
  memory_bytes_ = arena.bytes() + scratch_.bytes();
}

void Program::bind(const std::string& name, const Tensor& tensor) {
  const auto id = source(name);
  const auto& info = graph_.info(id);
  if (tensor.dtype() != info.dtype || !(tensor.shape() == info.shape.with_rows(rows_)) || !is_on_device(tensor))
    throw Error(name,
                to_string(tensor) + " was given where " + to_string(info) + " on " + to_string(device_) + " is needed");
  tensors_[id] = tensor;
  if (wired_) unwire();
}

void Program::unbind(const std::string& name) {
  tensors_[source(name)] = {};
  if (wired_) unwire();
  forget_views();
}

ValueId Program::source(const std::string& name) const {
  for (const auto& node : graph_.nodes())
    if (node.op->kind == OpKind::source && node.name == name) return node.outputs[0];
  throw Error("program", "there is no input or parameter '" + name + "'");
}

Tensor Program::tensor_of(ValueId value) const {
  if (tensors_[value]) return tensors_[value];
  const auto& node = graph_.producer(value);
  if (node.op->kind == OpKind::update) return tensor_of(node.inputs[graph_.values()[value].output]);
  if (node.op->kind != OpKind::view) throw Error(node.name, "has no memory: bind it first");
  const auto offset = node.attributes.has("offset") ? node.attributes.integer("offset") : 0;
  const auto& info = graph_.info(value);
  return tensor_of(node.inputs[0])
      .view(info.shape.with_rows(rows_), static_cast<std::size_t>(offset) * size_of(info.dtype));
}

void Program::wire() {
  forget_views();
  unwire();
  for (auto& step : steps_) {
    for (auto input : step.node->inputs) step.inputs.push_back(tensor_of(input));
    for (auto output : step.node->outputs) step.outputs.push_back(tensor_of(output));
  }
  for (const auto& named : graph_.outputs()) tensors_[named.value] = tensor_of(named.value);
  wired_ = true;
}

void Program::forget_views() {
  for (const auto& named : graph_.outputs()) {
    const auto kind = graph_.producer(named.value).op->kind;
    if (kind == OpKind::view || kind == OpKind::update) tensors_[named.value] = {};
  }
}

void Program::unwire() {
  wired_ = false;
  for (auto& step : steps_) {
    step.inputs.clear();
    step.outputs.clear();
  }
}

void Program::run_step(std::size_t i) {
  auto& step = steps_[i];
  if (step.kernel)
    step.kernel->run({*stream_, scratch_.address()}, step.inputs, step.outputs);
  else if (step.op->kind != OpKind::update)
    fill_with_zeros(*stream_, step.outputs);
}

void Program::run() {
  const DefaultFloatMode mode;
  if (!wired_) wire();
  for (std::size_t i = 0; i < steps_.size(); ++i) run_step(i);
  stream_->record().wait();
}

const Tensor& Program::output(const std::string& name) const {
  return tensors_[graph_.output(name)];
}

}  // namespace troupe
