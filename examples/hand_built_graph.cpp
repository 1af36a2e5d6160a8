// A graph built by hand: least squares on four points, its gradient, the graph after the passes, and a few steps of
// descent in a plain loop, without actors.

#include <cstdio>
#include <iostream>

#include "troupe/ops/graph/print.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/ops/passes/passes.hpp"

using namespace troupe;

int main() {
  GraphBuilder builder;
  const auto x = builder.input("x", {4, 2});
  const auto y = builder.input("y", {4, 1});
  const auto weights = builder.parameter("weights", {2, 1}, Initializer::zeros());
  const auto bias = builder.parameter("bias", {1}, Initializer::zeros());
  const auto error = sub(add(matmul(x, weights), bias), y);
  builder.output("loss", reduce_mean(mul(error, error), std::vector<std::int64_t>{0, 1}));
  const auto forward = std::move(builder).build();
  std::cout << "as written:\n" << to_text(forward);

  const auto fused = optimize_forward(forward);
  const auto training = eliminate_dead_code(gradient(fused, "loss"));
  std::cout << "\nfused, with gradients:\n" << to_text(training);

  // y = 3 x0 - x1 + 2
  Program program(training, 0);
  program.bind("x", Tensor::from<float>({4, 2}, std::vector<float>{0, 0, 1, 0, 0, 1, 1, 1}));
  program.bind("y", Tensor::from<float>({4, 1}, std::vector<float>{2, 5, 1, 4}));
  const Tensor w({2, 1}, DType::float32), b({1}, DType::float32);
  program.bind("weights", w);
  program.bind("bias", b);
  for (int step = 0; step <= 200; ++step) {
    program.run();
    const auto dw = program.output("gradient/weights").data<float>();
    const auto db = program.output("gradient/bias").data<float>();
    for (std::size_t i = 0; i < 2; ++i) w.mutable_data<float>()[i] -= 0.1F * dw[i];
    b.mutable_data<float>()[0] -= 0.1F * db[0];
    if (step % 50 == 0) std::printf("step %3d: loss %.6f\n", step, program.output("loss").item<float>());
  }
  std::printf("y = %.2f x0 + %.2f x1 + %.2f\n", w.data<float>()[0], w.data<float>()[1], b.data<float>()[0]);
}
