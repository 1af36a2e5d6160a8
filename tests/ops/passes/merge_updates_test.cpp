#include <algorithm>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/ops/cases/case_runner.hpp"
#include "troupe/tests/ops/graph/run_graph.hpp"
#include "troupe/tests/test_device/test_device.hpp"

namespace troupe::ops_test {

namespace {

/// Updates of parameters `p0`, `p1`, ... of these shapes, whose gradients are inputs. With `with_row_sparse` the last
/// parameter is row-sparse.
Graph update_graph(const Optimizer& optimizer, const std::vector<Shape>& shapes, bool with_row_sparse = false) {
  GraphBuilder builder;
  std::vector<Value> parameters, gradients;
  for (const auto& shape : shapes) {
    const auto name = "p" + std::to_string(parameters.size());
    const bool row_sparse = with_row_sparse && parameters.size() + 1 == shapes.size();
    parameters.push_back(row_sparse ? builder.row_sparse_parameter(name, shape, Initializer::zeros())
                                    : builder.parameter(name, shape, Initializer::zeros()));
    gradients.push_back(builder.input("d" + name, shape));
  }
  optimizer.apply(parameters, gradients, builder.batch_info(), builder.input("flag", {}));
  return std::move(builder).build();
}

std::ptrdiff_t count(const Graph& graph, std::string_view op) {
  return std::ranges::count(ops_of(graph), op);
}

const std::vector<Shape> kShapes{{3, 4}, {5}, {0, 2}, {}, {40, 50}, {2, 3}};

const std::vector<Optimizer>& optimizers() {
  static const std::vector<Optimizer> all{Sgd{.lr = 0.1},
                                          Sgd{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1, .clip_norm = 1.0},
                                          Adam{.lr = Schedule::step_decay(0.1, 2, 0.5)},
                                          AdamW{.lr = 0.1, .clip_norm = 1.0},
                                          RmsProp{.lr = 0.1},
                                          Optimizer(Adam{.lr = 0.1}).accumulating(2).averaging(0.5)};
  return all;
}

void check_bits(Device device) {
  for (const auto& optimizer : optimizers())
    for (const bool with_row_sparse : {false, true}) {
      const auto before = update_graph(optimizer, kShapes, with_row_sparse);
      const auto after = merge_updates(before);
      CHECK(after.nodes().size() == before.nodes().size() - (with_row_sparse ? 4 : 5));
      CHECK(std::ranges::equal(run_graph(after, 1, device), run_graph(before, 1, device), same_bits));
    }
}

}  // namespace

TEST_CASE("updates that share their inputs become one", "[passes]") {
  const auto plain = merge_updates(update_graph(Sgd{}, {{3}, {4, 5}, {}}));
  CHECK(ops_of(plain) == Ops{"learning_rate", "sgd_updates"});
  CHECK(plain.nodes().back().name == "optimizer.sgd_update");
  const auto clipped = merge_updates(update_graph(AdamW{.clip_norm = 1.0}, {{3}, {4, 5}}));
  CHECK(ops_of(clipped) == Ops{"learning_rate", "global_norm_factor", "adam_updates"});
  CHECK(count(merge_updates(update_graph(Adagrad{}, {{3}, {2}})), "squares_updates") == 1);
  CHECK(count(merge_updates(update_graph(Lamb{}, {{3}, {2}})), "lamb_update") == 2);
}

TEST_CASE("updates whose gradients come from different sums stay apart", "[passes]") {
  const auto ops_with = [](const Optimizer& optimizer) {
    GraphBuilder builder;
    std::vector<Value> parameters, gradients;
    const auto sum = [&](const char* name) { return all_reduce(builder.input(name, {2, 3})); };
    const auto first = sum("first"), second = sum("second");
    for (const auto* name : {"a", "b", "c", "d"})
      parameters.push_back(builder.parameter(name, {3}, Initializer::zeros()));
    for (const auto& [from, offset] : {std::pair(second, 0), {first, 0}, {second, 3}, {first, 3}})
      gradients.push_back(view_at(from, offset, {3}));
    optimizer.apply(parameters, gradients, builder.batch_info(), builder.input("flag", {}));
    return ops_of(merge_updates(std::move(builder).build()));
  };
  const auto count_merged = [&](const Optimizer& optimizer) {
    return std::ranges::count(ops_with(optimizer), "sgd_updates");
  };
  CHECK(count_merged(Sgd{.lr = 0.1}) == 2);
  // Clipping waits for all gradients.
  CHECK(count_merged(Sgd{.lr = 0.1, .clip_norm = 1.0}) == 1);
}

TEST_CASE("merged updates keep every bit", "[passes][test device]") {
  check_bits(Device{});
  check_bits(testing::test_device());
}

TEST_CASE("merged updates keep every bit on a GPU", "[.gpu]") {
  if (const auto device = testing::gpu()) check_bits(*device);
}

TEST_CASE("an update alone, of another kind, or row-sparse stays as it is", "[passes]") {
  CHECK(ops_of(merge_updates(update_graph(Sgd{}, {{3}}))) == Ops{"learning_rate", "sgd_update"});
  const auto first = [](const std::string& name) { return name == "p0" || name == "p1"; };
  const auto groups = update_graph(Optimizer(Sgd{.lr = 0.1}).with_group(first, Sgd{.lr = 0.2}), {{3}, {2}, {4}, {5}});
  CHECK(ops_of(merge_updates(groups)) == Ops{"learning_rate", "sgd_updates", "learning_rate", "sgd_updates"});
  const auto kinds = update_graph(Optimizer(Sgd{.lr = 0.1}).with_group(first, Adam{}), {{3}, {2}, {4}});
  CHECK(ops_of(merge_updates(kinds)) == Ops{"learning_rate", "adam_updates", "learning_rate", "sgd_update"});
  const auto sparse = merge_updates(update_graph(Sgd{}, {{3}, {4}, {5, 2}}, true));
  CHECK(ops_of(sparse) == Ops{"learning_rate", "sgd_updates", "sgd_update"});
}

TEST_CASE("an update is not merged with later ones past a reader of its parameter", "[passes]") {
  GraphBuilder builder;
  const Attributes attributes{{"momentum", 0.0}, {"nesterov", false}, {"weight_decay", 0.0}, {"clipped", false}};
  const auto rate = builder.input("rate", {});
  std::vector<Value> parameters;
  for (const auto* name : {"a", "b", "c", "d", "e"})
    parameters.push_back(builder.parameter(name, {3}, Initializer::zeros()));
  const auto gradient = builder.input("gradient", {3});
  const auto update = [&](std::size_t i, Value by) {
    return builder.apply_one(kSgdUpdate, {parameters[i], by, rate}, attributes);
  };
  update(0, gradient);
  update(1, gradient);
  // The gradient of `c` reads `a` after the update of `a`.
  update(2, scale(parameters[0], 2.0));
  // The gradient of `d` is the parameter `e`, which has an update.
  update(3, parameters[4]);
  builder.output("new", update(4, gradient));
  const auto before = std::move(builder).build();
  const auto after = merge_updates(before);
  CHECK(ops_of(after) == Ops{"sgd_updates", "scale", "sgd_update", "sgd_update", "sgd_update"});
  CHECK(std::ranges::equal(run_graph(after, 1), run_graph(before, 1), same_bits));
}

}  // namespace troupe::ops_test
