#include <algorithm>
#include <vector>

#include "troupe/ops/passes/overwrites.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/readers.hpp"
#include "troupe/ops/passes/rewrite.hpp"

namespace troupe {

namespace {

/// With more classes the gradient reads the logits from memory three times, but the log probabilities once.
constexpr std::int64_t kMaxClasses = 1024;

/// The pass cross_entropy_of_logits.
class LogitsPass {
 public:
  explicit LogitsPass(const Graph& graph) : graph_(graph), readers_(graph), overwrites_(graph) {}

  Graph run() {
    Rewrite rewrite(graph_);
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
      if (takes_logits(i))
        copy_with_logits(rewrite, node(i));
      else if (!is_replaced(node(i)))
        rewrite.copy(node(i));
    }
    return std::move(rewrite).finish();
  }

 private:
  const Node& node(int i) const { return graph_.nodes()[i]; }

  /// True if node i is the gradient of a cross-entropy that can be computed from the logits.
  bool takes_logits(int i) const {
    if (!node(i).is(kSoftmaxCrossEntropyGrad)) return false;
    const auto& log_probabilities = graph_.values()[node(i).inputs[1]];
    const auto forward = log_probabilities.node;
    return node(forward).is(kSoftmaxCrossEntropy) && log_probabilities.output == 1 &&
           log_probabilities.info.shape.back(0) <= kMaxClasses &&
           overwrites_.same_at(node(forward).inputs[0], forward, i);
  }

  /// True if a node is the gradient of a mean over the batch that only gradients computed from logits read. They divide
  /// by the number of rows instead of the node, which reads the loss for its shape and so waits for it.
  bool is_replaced(const Node& node) const {
    if (!node.is(kBatchMeanGrad) || readers_.is_output(node.outputs[0])) return false;
    const auto& readers = readers_.of(node.outputs[0]);
    return !readers.empty() && std::ranges::all_of(readers, [&](int reader) { return takes_logits(reader); });
  }

  void copy_with_logits(Rewrite& rewrite, const Node& node) const {
    const auto& dloss = graph_.producer(node.inputs[0]);
    const bool of_mean = is_replaced(dloss);
    const auto logits = graph_.producer(node.inputs[1]).inputs[0];
    std::vector inputs{of_mean ? dloss.inputs[0] : node.inputs[0], logits, node.inputs[2]};
    if (of_mean) inputs.push_back(dloss.inputs[1]);
    auto from_logits = node;
    from_logits.op = &kSoftmaxCrossEntropyLogitsGrad;
    rewrite.copy(from_logits, inputs, node.attributes, node.outputs);
  }

  const Graph& graph_;
  Readers readers_;
  Overwrites overwrites_;
};

}  // namespace

Graph cross_entropy_of_logits(const Graph& graph) {
  return LogitsPass(graph).run();
}

}  // namespace troupe
