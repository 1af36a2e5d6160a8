#include "troupe/strategies/training/training_graph.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/elementwise.hpp"
#include "troupe/ops/graph/gradient.hpp"
#include "troupe/ops/graph/passes.hpp"
#include "troupe/ops/reduce.hpp"
#include "troupe/ops/softmax.hpp"

namespace troupe {

Value SoftmaxCrossEntropy::operator()(Value scores, Value labels) const {
  return softmax_cross_entropy(scores, labels).loss;
}

Graph forward_graph(const TrainingSpec& spec, const Shape& features) {
  GraphBuilder builder;
  const auto x = builder.input(names::kFeatures, features);
  const auto labels = builder.input(names::kLabels, Shape{kBatch}, DType::int32);
  const auto batch_info = builder.input(names::kBatchInfo, Shape{4}, DType::int64);
  const auto scores = spec.model(x);
  GraphBuilder::Scope scope(builder, "loss");
  builder.output(names::kScores, scores);
  builder.output(names::kLoss, check_finite(batch_mean(spec.loss(scores, labels), batch_info)));
  builder.output(names::kCorrect, count_correct(scores, labels));
  return optimize_forward(std::move(builder).build());
}

Graph training_graph(const TrainingSpec& spec, const Shape& features, const ReduceGradients& reduce) {
  GraphBuilder builder(forward_graph(spec, features));
  std::vector<Value> parameters;
  for (auto id : builder.graph().sources("parameter"))
    if (builder.graph().producer(id).trainable) parameters.push_back(builder.value(id));
  if (parameters.empty()) throw Error("trainer", "the model has no parameters to train");
  const auto gradient_of = gradients(builder.value(builder.graph().output(names::kLoss)), parameters);
  std::vector<std::size_t> order(parameters.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return gradient_of[a].id() < gradient_of[b].id(); });
  std::vector<Value> made_first, owners;
  for (auto i : order) {
    made_first.push_back(gradient_of[i]);
    owners.push_back(parameters[i]);
  }
  const auto batch_info = builder.value(builder.graph().sources("input").at(2));
  spec.optimizer.apply(owners, reduce(made_first), batch_info);
  return eliminate_dead_code(std::move(builder).build());
}

}  // namespace troupe
