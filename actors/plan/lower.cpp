#include "troupe/actors/plan/lower.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "troupe/actors/plan/check_plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/reshape.hpp"

namespace troupe {

namespace {

class Lowering {
 public:
  Lowering(Plan& plan, const Graph& graph, const LowerOptions& options)
      : plan_(plan), graph_(graph), options_(options), output_of_(graph.values().size()) {}

  std::map<std::string, OutputRef> run() {
    check_feeders();
    for (const auto& node : graph_.nodes()) place_source(node);
    for (const auto& node : graph_.nodes())
      if (node.op->kind != OpKind::source && node.op->kind != OpKind::view) add_actor(node);
    // A reader of a parameter is connected to the update of the parameter, which comes later in the graph. So all
    // actors are added before any edge.
    note_read_parameters();
    for (const auto& [node, actor] : actors_) connect(*node, actor);
    std::map<std::string, OutputRef> outputs;
    for (const auto& named : graph_.outputs()) outputs[named.name] = output_ref(named);
    return outputs;
  }

 private:
  OutputRef output_ref(const NamedValue& named) const {
    const auto root = graph_.root_of(named.value);
    auto ref = output_of_[root];
    if (ref.actor == kNone)
      throw Error("lower", "output '" + named.name + "' is '" + graph_.producer(root).name + "', which no op computes");
    const auto& info = graph_.info(named.value);
    if (named.value != root) ref.view = info;
    ref.byte_offset = static_cast<std::size_t>(offset_of(named.value)) * size_of(info.dtype);
    return ref;
  }

  void check_feeders() const {
    for (const auto& [name, feeder] : options_.inputs) {
      const bool is_input = std::ranges::any_of(
          graph_.sources(kInput), [&, &fed = name](ValueId id) { return graph_.producer(id).name == fed; });
      if (!is_input) throw Error("lower", "the graph has no input '" + name + "'");
      const auto& outputs = plan_.actor(feeder.actor).outputs;
      if (feeder.output < 0 || static_cast<std::size_t>(feeder.output) >= outputs.size())
        throw Error("lower", "'" + plan_.actor(feeder.actor).name + "' has no output " + std::to_string(feeder.output) +
                                 " to feed '" + name + "'");
    }
  }

  void place_source(const Node& node) {
    if (node.is(kParameter)) return place_parameter(node);
    if (!node.is(kInput)) return;
    const auto feeder = options_.inputs.find(node.name);
    if (feeder == options_.inputs.end()) throw Error("lower", "nothing feeds the input '" + node.name + "'");
    const auto& fed = plan_.actors[feeder->second.actor].outputs[feeder->second.output].info;
    const auto& info = graph_.info(node.outputs[0]);
    if (!(fed == info))
      throw Error("lower", "input '" + node.name + "' is " + to_string(info) + " but is fed with " + to_string(fed));
    output_of_[node.outputs[0]] = feeder->second;
  }

  void place_parameter(const Node& node) {
    const auto sent = options_.parameters.find(node.name);
    if (sent != options_.parameters.end()) {
      output_of_[node.outputs[0]] = sent->second;
      return;
    }
    plan_.add_parameter({ref_of(node), graph_.info(node.outputs[0]), options_.place.device, node.initializer,
                         node.trainable, node.attributes.has(kPerReplica)});
  }

  ParameterRef ref_of(const Node& parameter) const {
    const auto suffix = parameter.attributes.has(kPerReplica) ? "@" + std::to_string(options_.replica) : std::string();
    return {parameter.name + suffix, options_.replica};
  }

  void add_actor(const Node& node) {
    ActorId actor = kNone;
    if (node.op->kind == OpKind::collective) {
      if (!options_.make_collective) throw Error("lower", "'" + node.name + "' needs a communicator");
      actor = options_.make_collective(plan_, node);
    } else {
      actor = plan_.add(make_op_actor(node));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      output_of_[node.outputs[i]] = {actor, static_cast<std::int32_t>(i)};
    if (node.op->kind == OpKind::update) set_up_update(node, actor);
    actors_.emplace_back(&node, actor);
  }

  PlanActor make_op_actor(const Node& node) const {
    PlanActor actor;
    actor.name = options_.prefix + node.name + "@" + std::to_string(options_.replica);
    actor.place = options_.place;
    actor.replica = options_.replica;
    OpCall call{node.op, node.attributes, {}, {}};
    for (auto input : node.inputs) call.inputs.push_back(graph_.info(input));
    for (auto output : node.outputs) call.outputs.push_back(graph_.info(output));
    expect_kernel_for(call);
    for (const auto& info : call.outputs) actor.outputs.push_back({kNone, info});
    if (node.op->kind == OpKind::pack) {
      for (auto offset : pack_offsets(call.inputs))
        actor.outputs[0].pack_offsets.push_back(static_cast<std::size_t>(offset) * sizeof(float));
      actor.outputs[0].pack_offsets.pop_back();
    }
    actor.alone = options_.alone;
    actor.task = {.kind = "op", .call = std::move(call)};
    return actor;
  }

  /// Throws Error if the device has no kernel for the op. Skips a device type for which this build has no backend,
  /// since only another process can run such an actor, and an op on empty tensors, which needs no kernel.
  void expect_kernel_for(const OpCall& call) const {
    const auto device = options_.place.device;
    if (has_backend(device.type) && !has_empty_tensor(with_rows(call, 1))) expect_kernel(call, device);
  }

  void set_up_update(const Node& node, ActorId actor) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const auto parameter = graph_.root_of(node.inputs[i]);
      if (!graph_.producer(parameter).is(kParameter) || output_of_[parameter].actor != kNone)
        throw Error("lower", "'" + node.name + "' updates a non-parameter");
      plan_.actors[actor].outputs[i].parameter = ref_of(graph_.producer(parameter));
      if (!updated_by_.try_emplace(parameter, OutputRef{actor, static_cast<std::int32_t>(i)}).second)
        throw Error("lower", "parameter '" + graph_.producer(parameter).name + "' is updated twice in one step");
    }
  }

  static bool overwrites(const Node& node, std::size_t input) {
    return node.op->kind == OpKind::update && input < node.outputs.size();
  }

  /// Notes the outputs of updates whose edges lead to readers of the parameter before the update.
  void note_read_parameters() {
    for (const auto& [node, actor] : actors_)
      for (std::size_t i = 0; i < node->inputs.size(); ++i) {
        const auto update = updated_by_.find(graph_.root_of(node->inputs[i]));
        if (update != updated_by_.end() && !overwrites(*node, i))
          read_before_update_.emplace(update->second.actor, update->second.output);
      }
  }

  /// Returns the edge to readers of a value in the step that computes it. If the edge of the output leads to readers of
  /// the parameter before the update, the actor gets one more output of the parameter for the readers after the update.
  EdgeId edge_in_step(const OutputRef& output) {
    const std::pair key(output.actor, output.output);
    if (!read_before_update_.contains(key)) return plan_.edge_of(output.actor, output.output, options_.capacity);
    auto& outputs = plan_.actors[output.actor].outputs;
    const auto after = after_update_.try_emplace(key, static_cast<std::int32_t>(outputs.size()));
    if (after.second) outputs.push_back({kNone, outputs[output.output].info, outputs[output.output].parameter});
    return plan_.edge_of(output.actor, after.first->second);
  }

  void connect(const Node& node, ActorId actor) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) connect_input(actor, node.inputs[i], overwrites(node, i));
    if (!has_input_without_tokens(plan_, plan_.actors[actor]) && !options_.inputs.empty())
      plan_.connect(step_feeder(), actor, options_.capacity);
  }

  /// The feeder with the smallest tensors, which tells an op when a step begins.
  const OutputRef& step_feeder() const {
    const auto size = [&](const auto& input) {
      return bytes_of(plan_.actors[input.second.actor].outputs[input.second.output].info, plan_.max_rows);
    };
    return std::ranges::min_element(options_.inputs, {}, size)->second;
  }

  /// The offset of a value in its root, the value behind all views, in elements.
  std::int64_t offset_of(ValueId value) const {
    std::int64_t offset = 0;
    for (; graph_.producer(value).op->kind == OpKind::view; value = graph_.producer(value).inputs[0])
      if (graph_.producer(value).attributes.has("offset"))
        offset += graph_.producer(value).attributes.integer("offset");
    return offset;
  }

  void connect_input(ActorId actor, ValueId value, bool in_place) {
    const auto root = graph_.root_of(value);
    const auto& info = graph_.info(value);
    const auto byte_offset = static_cast<std::size_t>(offset_of(value)) * size_of(info.dtype);
    const auto& source = graph_.producer(root);
    auto& inputs = plan_.actors[actor].inputs;
    if (source.is(kConstant)) {
      inputs.push_back({.info = info, .byte_offset = byte_offset, .constant = source.constant});
      return;
    }
    const auto& output = output_of_[root];
    if (output.actor != kNone)
      return plan_.connect(edge_in_step(output), actor, info, output.byte_offset + byte_offset);
    const auto update = updated_by_.find(root);
    if (in_place || update == updated_by_.end()) {
      inputs.push_back({.info = info, .byte_offset = byte_offset, .parameter = ref_of(source)});
      return;
    }
    plan_.connect(plan_.edge_of(update->second.actor, update->second.output, 1, 1), actor, info, byte_offset);
  }

  Plan& plan_;
  const Graph& graph_;
  const LowerOptions& options_;
  std::vector<OutputRef> output_of_;  // by value; `actor` is kNone if no actor computes or sends the value
  std::map<ValueId, OutputRef> updated_by_;
  // Outputs of updates, by actor and number: those whose parameters are read before the update, and for those that are
  // read after the update, too, the number of the output for these readers.
  std::set<std::pair<ActorId, std::int32_t>> read_before_update_;
  std::map<std::pair<ActorId, std::int32_t>, std::int32_t> after_update_;
  std::vector<std::pair<const Node*, ActorId>> actors_;
};

}  // namespace

std::map<std::string, OutputRef> lower(Plan& plan, const Graph& graph, const LowerOptions& options) {
  return Lowering(plan, graph, options).run();
}

}  // namespace troupe
