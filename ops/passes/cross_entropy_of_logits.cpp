#include <algorithm>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/ops/passes/uses.hpp"

namespace troupe {

namespace {

/// The largest number of classes for which the gradient is computed from the logits. The kernel reads a row of logits
/// three times: for the maximum, the sum and the result. A longer row may leave the cache between these reads. Log
/// probabilities are read only once.
constexpr std::int64_t kMaxClasses = 1024;

/// True if node i is the gradient of a softmax_cross_entropy and can be computed from the logits: there are at most
/// kMaxClasses classes, and no update overwrites the logits before node i.
bool takes_logits(const Graph& graph, const Uses& uses, int i) {
  const auto& gradient = graph.nodes()[i];
  if (!gradient.is(kSoftmaxCrossEntropyGrad)) return false;
  const auto& log_probabilities = graph.values()[gradient.inputs[1]];
  const auto& forward = graph.nodes()[log_probabilities.node];
  return forward.is(kSoftmaxCrossEntropy) && log_probabilities.output == 1 &&
         log_probabilities.info.shape.back(0) <= kMaxClasses &&
         uses.same_at(forward.inputs[0], log_probabilities.node, i);
}

/// True if a node is the gradient of batch_mean, and only gradients of cross-entropies that are computed from logits
/// read it. The node is then dropped, and these gradients divide by the number of rows of the batch instead. The node
/// reads the losses, of which it needs only the shape, so with it the gradients would wait for the losses.
bool is_replaced(const Graph& graph, const Uses& uses, const Node& node) {
  if (!node.is(kBatchMeanGrad) || uses.is_output(node.outputs[0])) return false;
  const auto& readers = uses.readers_of(node.outputs[0]);
  return !readers.empty() &&
         std::ranges::all_of(readers, [&](int reader) { return takes_logits(graph, uses, reader); });
}

}  // namespace

Graph cross_entropy_of_logits(const Graph& graph) {
  const Uses uses(graph);
  NodeChanges changes(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const auto& node = graph.nodes()[i];
    if (is_replaced(graph, uses, node)) changes.drop(i);
    if (!takes_logits(graph, uses, i)) continue;
    const auto& dloss = graph.producer(node.inputs[0]);
    const auto logits = graph.producer(node.inputs[1]).inputs[0];
    auto from_logits = node;
    from_logits.op = &kSoftmaxCrossEntropyLogitsGrad;
    if (is_replaced(graph, uses, dloss))
      from_logits.inputs = {dloss.inputs[0], logits, node.inputs[2], dloss.inputs[1]};
    else
      from_logits.inputs[1] = logits;
    changes.replace(i, std::move(from_logits));
  }
  return changes.finish();
}

}  // namespace troupe
