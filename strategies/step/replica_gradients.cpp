#include "troupe/strategies/step/replica_gradients.hpp"

#include <algorithm>
#include <numeric>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/strategies/step/training_graph.hpp"

namespace troupe {

namespace {

std::vector<Value> trained_parameters(GraphBuilder& builder, const Optimizer& optimizer) {
  std::vector<Value> parameters;
  for (auto id : builder.graph().sources(kParameter)) {
    const auto& node = builder.graph().producer(id);
    if (node.trainable && optimizer.trains(node.name)) parameters.push_back(builder.value(id));
  }
  return parameters;
}

/// Indices of the gradients in the order in which the backward pass makes them.
std::vector<std::size_t> order_made(std::span<const Value> gradient_of) {
  std::vector<std::size_t> order(gradient_of.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](auto i) { return gradient_of[i].id(); });
  return order;
}

Value loss_flag(Value loss) {
  GraphBuilder::Scope scope(loss.builder(), "loss_is_finite");
  return all_finite(loss) - 1.0;
}

}  // namespace

ReplicaGradients add_gradients(GraphBuilder& forward, const Optimizer& optimizer, std::span<const Value> further) {
  const auto parameters = trained_parameters(forward, optimizer);
  if (parameters.empty() && further.empty()) throw Error("trainer", "the model has no parameters to train");
  const auto loss = forward.value(forward.graph().output(names::kLoss));
  ReplicaGradients replica{loss_flag(loss)};
  auto all = parameters;
  all.insert(all.end(), further.begin(), further.end());
  const auto gradient_of = gradients(loss, all);
  for (auto i : order_made(std::span(gradient_of).first(parameters.size()))) {
    replica.parameters.push_back(parameters[i]);
    replica.gradients.push_back(gradient_of[i]);
  }
  replica.further.assign(gradient_of.begin() + static_cast<std::ptrdiff_t>(parameters.size()), gradient_of.end());
  return replica;
}

Value every_loss_is_finite(Value sum) {
  GraphBuilder::Scope scope(sum.builder(), "loss_is_finite");
  return at_least(sum, 0.0);
}

}  // namespace troupe
