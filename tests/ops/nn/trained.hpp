#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/tests/ops/cases/array.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

/// A program that updates two parameters `a` and `b` by an optimizer, with given gradients.
class Trained {
 public:
  explicit Trained(const Optimizer& optimizer, bool with_flag = false)
      : Trained(graph_of(optimizer, with_flag), with_flag) {}

  /// Sets the number of rows of the next batches.
  void set_rows(std::int64_t rows) { rows_ = rows; }
  void set_flag(float flag) { flag_.mutable_data<float>()[0] = flag; }
  /// Copies of the parameters and then of the states.
  std::vector<Tensor> memory() const {
    std::vector<Tensor> copies{a_.clone(), b_.clone()};
    for (const auto& state : states_) copies.push_back(state.clone());
    return copies;
  }

  /// Runs the step with a number and gradients.
  void step(std::int64_t number, const std::vector<float>& da, float db) {
    std::ranges::copy(da, da_.mutable_data<float>().begin());
    db_.mutable_data<float>()[0] = db;
    BatchInfo{.rows = rows_, .global_rows = rows_, .step = number}.write(info_);
    program_.run();
  }

  Array a() const { return to_array(a_); }
  Array b() const { return to_array(b_); }

 private:
  Trained(const Graph& graph, bool with_flag) : program_(graph, 0) {
    if (with_flag) program_.bind("flag", flag_);
    for (const auto id : graph.sources(kParameter)) {
      const auto& name = graph.producer(id).name;
      if (name == "a" || name == "b") continue;
      states_.emplace_back(graph.info(id).shape, DType::float32);
      program_.bind(name, states_.back());
    }
    program_.bind("a", a_);
    program_.bind("b", b_);
    program_.bind("da", da_);
    program_.bind("db", db_);
    program_.bind("info", info_);
  }

  static Graph graph_of(const Optimizer& optimizer, bool with_flag) {
    GraphBuilder builder;
    const std::vector parameters{builder.parameter("a", {2}, Initializer::zeros()),
                                 builder.parameter("b", {1, 1}, Initializer::zeros())};
    const std::vector gradients{builder.input("da", {2}), builder.input("db", {1, 1})};
    const auto info = builder.input("info", {4}, DType::int64);
    optimizer.apply(parameters, gradients, info, with_flag ? builder.input("flag", {}) : Value());
    return std::move(builder).build();
  }

  Tensor a_ = Tensor::from<float>({2}, std::vector<float>{1.0F, -2.0F});
  Tensor b_ = Tensor::from<float>({1, 1}, std::vector<float>{0.5F});
  Tensor da_{{2}, DType::float32}, db_{{1, 1}, DType::float32}, info_{{4}, DType::int64};
  Tensor flag_ = Tensor::scalar(1.0F);
  std::int64_t rows_ = 1;
  std::vector<Tensor> states_;
  Program program_;
};

}  // namespace troupe::ops_test
