#include "troupe/strategies/training/model_summary.hpp"

#include <algorithm>
#include <iomanip>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/text_stream.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

ModelSummary::Layer& find_layer(std::vector<ModelSummary::Layer>& layers, const std::string& name) {
  const auto layer = std::ranges::find(layers, name, &ModelSummary::Layer::name);
  return layer != layers.end() ? *layer : layers.emplace_back(ModelSummary::Layer{name, {}, 0});
}

/// Counts the ops of the first replica that multiply, by the dtype of their factors.
std::vector<ModelSummary::Products> products_of(const Plan& plan) {
  std::vector<ModelSummary::Products> products;
  for (const auto& actor : plan.actors) {
    const auto& call = actor.task.call;
    if (!call || call->op->multiply_adds == nullptr || actor.replica != plan.actors.front().replica) continue;
    const auto dtype = call->inputs.at(0).dtype;
    const bool converted = !backend_of(actor.place.device).has_products_of(dtype);
    auto entry = std::ranges::find(products, dtype, &ModelSummary::Products::dtype);
    if (entry == products.end()) entry = products.insert(entry, {dtype, converted, 0});
    ++entry->ops;
  }
  return products;
}

std::string to_string(const ModelSummary::Products& products) {
  return std::to_string(products.ops) + " in " + std::string(name_of(products.dtype)) +
         (products.converted ? ", converted to float32" : "");
}

}  // namespace

ModelSummary summarize(const Trainer& trainer, const Dataset& data) {
  ModelSummary summary;
  const auto graph = prediction_graph(trainer.spec(), data.fields());
  for (const auto& node : graph.nodes()) {
    if (node.is(kInput) || node.is(kConstant)) continue;
    auto& layer = find_layer(summary.layers, node.name.substr(0, node.name.find('.')));
    if (!node.is(kParameter)) {
      layer.output = graph.info(node.outputs[0]);
      continue;
    }
    const auto& shape = graph.info(node.outputs[0]).shape;
    const bool trained = node.trainable && trainer.spec().optimizer.trains(node.name);
    summary.rows.push_back({node.name, shape, trained});
    if (!trained) continue;
    layer.elements += shape.elements();
    summary.trained_elements += shape.elements();
  }
  const auto plan = trainer.training_plan(data);
  summary.memory = memory_of(plan);
  summary.products = products_of(plan);
  return summary;
}

std::string to_string(const ModelSummary& summary) {
  TextStream out;
  std::size_t widest = 5;
  for (const auto& layer : summary.layers) widest = std::max(widest, layer.name.size());
  const auto width = static_cast<int>(widest) + 2;
  out << std::left << std::setw(width) << "layer" << std::setw(24) << "output"
      << "parameters\n";
  for (const auto& layer : summary.layers)
    out << std::setw(width) << layer.name << std::setw(24) << to_string(layer.output) << layer.elements << "\n";
  out << summary.trained_elements << " trained parameters; memory of the plan " << std::fixed << std::setprecision(1)
      << static_cast<double>(summary.memory.total()) / 1048576.0 << " MiB, "
      << static_cast<double>(summary.memory.parameters) / 1048576.0 << " MiB of it parameters and their states\n";
  for (const auto& products : summary.products)
    out << (&products == &summary.products.front() ? "products: " : "; ") << to_string(products);
  if (!summary.products.empty()) out << "\n";
  return out.str();
}

}  // namespace troupe
