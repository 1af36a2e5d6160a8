#include "troupe/ops/graph/kernel.hpp"

#include <thread>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

// A user-defined op: the cube of x, with a gradient.
std::vector<TensorInfo> infer_cube(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  return {inputs[0]};
}
std::vector<Value> grad_cube(const OpGradient& g) {
  return {g.dys[0] * (g.inputs[0] * g.inputs[0]) * 3.0};
}
const OpDef kCube{.name = "cube", .infer = infer_cube, .gradient = grad_cube};

class CubeKernel final : public Kernel {
 public:
  void run(const KernelContext&, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override {
    const auto x = inputs[0].data<float>();
    for (std::size_t i = 0; i < x.size(); ++i) outputs[0].mutable_data<float>()[i] = x[i] * x[i] * x[i];
  }
};

std::unique_ptr<Kernel> make_cube(const OpCall&) {
  return std::make_unique<CubeKernel>();
}

Graph cube_graph() {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch});
  const auto y = builder.apply_one(kCube, {x});
  builder.output("y", y);
  builder.output("dx", gradients(reduce_sum(y, std::vector<std::int64_t>{0}), std::vector{x})[0]);
  return std::move(builder).build();
}

}  // namespace

TEST_CASE("a user-defined op and its kernel run and train like those of the library", "[kernel]") {
  CHECK(contains(error_of([] { Program(cube_graph(), 2); }), "[cube] has no kernel for cpu:0"));
  if (!has_backend(DeviceType::cuda))
    CHECK(contains(error_of([] { register_kernel(kCube, DeviceType::cuda, make_cube); }), "no backend for cuda"));
  CHECK(contains(error_of([] { register_kernel(kCube, DeviceType::cpu, {}); }), "[cube] was given a kernel factory"));
  register_kernel(kCube, DeviceType::cpu, make_cube);
  CHECK(contains(error_of([] { register_kernel(kCube, DeviceType::cpu, make_cube); }), "[cube] has a kernel"));
  CHECK(contains(error_of([] { register_kernel(kAdd, DeviceType::cpu, make_cube); }), "[add] has a kernel"));
  Program program(cube_graph(), 2);
  program.bind("x", Tensor::from<float>({2}, std::vector<float>{2.0F, -3.0F}));
  program.run();
  CHECK(program.output("y").data<float>()[1] == -27.0F);
  CHECK(program.output("dx").data<float>()[0] == 12.0F);
  CHECK(program.output("dx").data<float>()[1] == 27.0F);
}

TEST_CASE("kernels may be registered and made by several threads", "[kernel]") {
  std::vector<OpDef> ops(64);
  for (auto& op : ops) op = {.name = "one of many", .infer = infer_cube};
  KernelTable table;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (const auto& op : ops) {
          if (!error_of([&] { table.add(op, {make_cube}); }).empty()) ++refused;
          if (!table.find(op)) ++refused;
        }
      });
  }
  CHECK(refused == 3 * 64);
}

TEST_CASE("multiply-adds are counted as in the loops that define the op", "[kernel]") {
  const auto count = [](const OpDef& op, const std::vector<Shape>& inputs, const Shape& output) {
    OpCall call{&op, {}, {}, {{output}}};
    for (const auto& shape : inputs) call.inputs.push_back({shape});
    return op.multiply_adds(call);
  };
  CHECK(count(kMatmul, {{3, 5}, {5, 7}}, {3, 7}) == 3 * 5 * 7);
  CHECK(count(kMatmul, {{5, 3}, {7, 5}}, {3, 7}) == 3 * 5 * 7);
  const Shape x{2, 8, 9, 3}, weights{3, 5, 3, 4}, y{2, 6, 5, 4};
  constexpr std::int64_t kProducts = (2 * 6 * 5 * 4) * (3 * 5 * 3);
  CHECK(count(kConv2d, {x, weights}, y) == kProducts);
  CHECK(count(kConv2dGradData, {y, weights}, x) == kProducts);
  CHECK(count(kConv2dGradWeights, {x, y}, weights) == kProducts);
}

}  // namespace troupe::ops_test
