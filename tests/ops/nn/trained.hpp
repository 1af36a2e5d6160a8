#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/tests/ops/cases/array.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

/// A program that updates two parameters `a` and `b` by an optimizer, with given gradients.
class Trained {
 public:
  explicit Trained(const Optimizer& optimizer, bool with_flag = false) : program_(graph_of(optimizer, with_flag), 0) {
    if (with_flag) program_.bind("flag", flag_);
    for (const auto& name :
         {"a/velocity", "b/velocity", "a/m", "b/m", "a/v", "b/v", "a/squares", "b/squares", "a/average_begun",
          "b/average_begun", "a/accumulated", "b/accumulated", "a/average", "b/average"})
      bind_if_there(name);
    program_.bind("a", a_);
    program_.bind("b", b_);
    program_.bind("da", da_);
    program_.bind("db", db_);
    program_.bind("info", info_);
  }

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
    info_.mutable_data<std::int64_t>()[3] = number;
    program_.run();
  }

  Array a() const { return to_array(a_); }
  Array b() const { return to_array(b_); }

 private:
  static Graph graph_of(const Optimizer& optimizer, bool with_flag) {
    GraphBuilder builder;
    const std::vector parameters{builder.parameter("a", {2}, Initializer::zeros()),
                                 builder.parameter("b", {1, 1}, Initializer::zeros())};
    const std::vector gradients{builder.input("da", {2}), builder.input("db", {1, 1})};
    const auto info = builder.input("info", {4}, DType::int64);
    optimizer.apply(parameters, gradients, info, with_flag ? builder.input("flag", {}) : Value());
    return std::move(builder).build();
  }

  void bind_if_there(const std::string& name) {
    const bool is_of_a = name.starts_with("a");
    const auto of_parameter = is_of_a ? Shape{2} : Shape{1, 1};
    const Tensor state(name.ends_with("_begun") ? Shape{} : of_parameter, DType::float32);
    if (error_of([&] { program_.bind(name, state); }).empty()) states_.push_back(state);
  }

  Tensor a_ = Tensor::from<float>({2}, std::vector<float>{1.0F, -2.0F});
  Tensor b_ = Tensor::from<float>({1, 1}, std::vector<float>{0.5F});
  Tensor da_{{2}, DType::float32}, db_{{1, 1}, DType::float32}, info_{{4}, DType::int64};
  Tensor flag_ = Tensor::scalar(1.0F);
  std::vector<Tensor> states_;
  Program program_;
};

}  // namespace troupe::ops_test
