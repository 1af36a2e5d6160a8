#include "troupe/strategies/step/worker.hpp"

#include "troupe/actors/plan/lower.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/step/replica_input.hpp"

namespace troupe {

namespace {

/// Adds the ops that compute the indices of the rows that are looked up, on the host. Each op is a segment of its own
/// (PlanActor::alone), so that the indices do not wait for the rows. Returns, for each looked-up parameter, the output
/// with its indices.
std::vector<OutputRef> add_indices(Plan& plan, const SplitTraining& step, LowerOptions options) {
  options.place = host_side(options.place);
  options.prefix = "indices/";
  options.alone = true;
  const auto outputs = lower(plan, step.indices, options);
  std::vector<OutputRef> indices;
  for (const auto& rows : step.looked_up) indices.push_back(outputs.at(names::indices_of(rows.parameter.name)));
  return indices;
}

/// Makes the parameters of a group views of `block`, the output that carries them.
void add_views(LowerOptions& options, const ParameterGroup& group, const OutputRef& block) {
  const auto offsets = group.parameter_offsets();
  for (std::size_t i = 0; i < group.parameters.size(); ++i) {
    auto view = block;
    view.view = group.parameters[i].info;
    view.byte_offset = static_cast<std::size_t>(offsets[i]) * sizeof(float);
    options.parameters[group.parameters[i].name] = view;
  }
}

}  // namespace

ActorId add_batches(Plan& plan, const PlanRequest& request, const std::string& strategy, int workers,
                    Dispatch dispatch) {
  if (request.batches != nullptr) throw Error(strategy, "needs a data set: its workers load samples by their numbers");
  if (!request.data.layout().whole()) throw Error(strategy, "every process needs all samples, not a shard of them");
  // The dispatcher runs on cpu:0 of rank 0.
  return add_dispatcher(plan, request.source, request.data, request.seed, workers, dispatch, Place{});
}

WorkerOutputs add_worker(Plan& plan, const PlanRequest& request, const SplitTraining& step, ActorId batches,
                         const std::vector<OutputRef>& parameters, const Replica& worker,
                         const std::vector<OutputRef>& rows, const MakeCollective& make_collective) {
  const bool looks_up = !step.looked_up.empty();
  // If rows are looked up, the fields are loaded on the host, because the indices are computed there.
  const auto input = add_dispatched_input(plan, request, fields_read(step.indices), batches, worker, !looks_up);
  auto options = lower_options(step.indices, input, worker);
  WorkerOutputs outputs;
  if (looks_up) {
    plan.actors[static_cast<std::size_t>(input.loader)].alone = true;
    outputs.indices = add_indices(plan, step, options);
  }
  for (std::size_t i = 0; i < step.looked_up.size(); ++i)
    options.inputs[names::rows_of(step.looked_up[i].parameter.name)] = rows.at(i);
  for (std::size_t g = 0; g < step.groups.size(); ++g) add_views(options, step.groups[g], parameters.at(g));
  options.make_collective = make_collective;
  const auto graph_outputs = lower(plan, optimized_for(worker.place.device, step.worker), options);
  add_sink(plan, request, graph_outputs, input.batch_info, worker);
  for (std::size_t g = 0; g < step.groups.size(); ++g)
    outputs.gradients.push_back(graph_outputs.at(names::gradients_of(g)));
  for (const auto& looked_up : step.looked_up)
    outputs.row_gradients.push_back(graph_outputs.at(names::row_gradients_of(looked_up.parameter.name)));
  return outputs;
}

}  // namespace troupe
