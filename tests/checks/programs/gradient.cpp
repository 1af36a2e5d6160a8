#include <iostream>
#include <vector>

#include "troupe/ops/graph/print.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/passes/gradient.hpp"

namespace {

using namespace troupe;

/// loss = sum of weights * weights, whose gradient is twice the weights.
Graph sum_of_squares() {
  GraphBuilder builder;
  const auto weights = builder.parameter("weights", Shape{3}, Initializer::zeros());
  builder.output("loss", reduce_sum(mul(weights, weights), std::vector<std::int64_t>{0}));
  return gradient(std::move(builder).build(), "loss");
}

}  // namespace

int main() {
  const auto graph = sum_of_squares();
  std::cout << to_text(graph);

  Program program(graph, 1);
  program.bind("weights", Tensor::from<float>(Shape{3}, {1.0F, 2.0F, -3.0F}));
  program.run();

  const auto loss = program.output("loss").item<float>();
  const auto gradient = program.output("gradient/weights").data<float>();
  const std::vector<float> expected{2.0F, 4.0F, -6.0F};
  std::cout << "loss " << loss << '\n';
  return loss == 14.0F && std::equal(gradient.begin(), gradient.end(), expected.begin(), expected.end()) ? 0 : 1;
}
