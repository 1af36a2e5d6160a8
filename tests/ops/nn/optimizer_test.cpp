#include "troupe/ops/nn/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "troupe/ops/graph/program.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/array.hpp"
#include "troupe/tests/ops/cases/reference.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

/// Two parameters `a` and `b` under an optimizer, their gradients given from outside.
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
  /// Copies of parameters and states.
  std::vector<Tensor> memory() const {
    std::vector<Tensor> copies{a_.clone(), b_.clone()};
    for (const auto& state : states_) copies.push_back(state.clone());
    return copies;
  }

  /// One step with the given gradients.
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

Array scalar(double value) {
  Array array(Sizes{});
  array.data[0] = value;
  return array;
}

std::string error_of_applying(const Optimizer& optimizer) {
  return error_of([&] { Trained trained(optimizer); });
}

}  // namespace

TEST_CASE("plain descent follows its schedule", "[optimizer]") {
  Trained trained(Sgd{.lr = Schedule::step_decay(0.5, 1, 0.5)});
  trained.step(0, {1.0F, 2.0F}, -4.0F);
  CHECK(trained.a().data == std::vector<double>{0.5, -3.0});
  CHECK(trained.b().data == std::vector<double>{2.5});
  trained.step(1, {1.0F, 2.0F}, -4.0F);
  CHECK(trained.a().data == std::vector<double>{0.25, -3.5});
}

TEST_CASE("a velocity carries over from step to step", "[optimizer]") {
  Trained plain(Sgd{.lr = 1.0, .momentum = 0.5});
  Trained nesterov(Sgd{.lr = 1.0, .momentum = 0.5, .nesterov = true});
  for (std::int64_t step = 0; step < 2; ++step) {
    plain.step(step, {1.0F, 0.0F}, 0.0F);
    nesterov.step(step, {1.0F, 0.0F}, 0.0F);
  }
  // Velocities 1 and 1.5; with Nesterov steps of 1.5 and 1.75.
  CHECK(plain.a().data == std::vector<double>{-1.5, -2.0});
  CHECK(nesterov.a().data == std::vector<double>{-2.25, -2.0});
}

TEST_CASE("clipping scales all gradients by their common norm", "[optimizer]") {
  Trained trained(Sgd{.lr = 1.0, .clip_norm = 6.5});
  trained.step(0, {3.0F, 4.0F}, 12.0F);
  CHECK(trained.a().data == std::vector<double>{-0.5, -4.0});
  CHECK(trained.b().data == std::vector<double>{-5.5});
  Trained below(Sgd{.lr = 1.0, .clip_norm = 13.0});
  below.step(0, {3.0F, 4.0F}, 12.0F);
  CHECK(below.a().data == std::vector<double>{-2.0, -6.0});
}

TEST_CASE("Adam agrees with its reference over many steps", "[optimizer]") {
  Trained trained(Adam{.lr = 0.05, .weight_decay = 0.01});
  const auto reference = reference::adam_update({.weight_decay = 0.01});
  Array info({4});
  Arrays state{trained.a(), Array({2}), Array({2})};
  for (std::int64_t step = 0; step < 50; ++step) {
    const std::vector<float> da{static_cast<float>(step % 7) - 3.0F, 0.01F};
    trained.step(step, da, 0.0F);
    Array gradient({2});
    gradient.data = {static_cast<double>(da[0]), static_cast<double>(da[1])};
    info.data[3] = static_cast<double>(step);
    state = reference.forward({state[0], state[1], state[2], gradient, scalar(0.05), info});
    CHECK(distance(trained.a(), state[0]) < 5e-6);
  }
}

TEST_CASE("the first step of Adam is as long as the rate, whatever the gradient", "[optimizer]") {
  Trained trained(Adam{.lr = 0.125});
  trained.step(0, {1e-3F, -1e4F}, 7.0F);
  CHECK(trained.a().data[0] == Approx(0.875).epsilon(1e-5));
  CHECK(trained.a().data[1] == Approx(-1.875).epsilon(1e-6));
  CHECK(trained.b().data[0] == Approx(0.375).epsilon(1e-6));
  // All of the parameter is taken away, so that what is left over is the error alone.
  Trained whole(Adam{.lr = 1.0});
  whole.step(0, {1.0F, 0.0F}, 0.0F);
  CHECK(std::abs(whole.a().data[0]) < 1e-6);
}

TEST_CASE("a user-defined rule is an optimizer", "[optimizer]") {
  struct Signs {
    Schedule lr = 1.0;
    std::optional<double> clip_norm = {};
    void update(const UpdateInputs& in) const { Sgd{.weight_decay = 1.0}.update(in); }
  };
  Trained trained{Optimizer(Signs{})};
  trained.step(0, {0.0F, 0.0F}, 0.0F);
  CHECK(trained.a().data == std::vector<double>{0.0, 0.0});
}

TEST_CASE("with a flag that is not above 0 an update leaves every bit as it was", "[optimizer]") {
  const std::vector<Optimizer> optimizers{Sgd{.lr = 0.1}, Sgd{.lr = 0.1, .momentum = 0.9, .clip_norm = 1.0}, Adam{}};
  for (const auto& optimizer : optimizers) {
    Trained flagged(optimizer, true), plain(optimizer);
    const auto same = [](const Tensor& a, const Tensor& b) {
      return std::ranges::equal(a.data<float>(), b.data<float>());
    };
    flagged.step(0, {1.0F, 2.0F}, 3.0F);
    plain.step(0, {1.0F, 2.0F}, 3.0F);
    CHECK(std::ranges::equal(flagged.memory(), plain.memory(), same));
    const auto nan = std::nanf("");
    for (const auto flag : {0.0F, -1.0F, nan}) {
      flagged.set_flag(flag);
      flagged.step(1, {nan, -7.0F}, 1.0F);
      CHECK(std::ranges::equal(flagged.memory(), plain.memory(), same));
    }
    flagged.set_flag(2.0F);
    flagged.step(1, {-4.0F, 0.5F}, 1.0F);
    plain.step(1, {-4.0F, 0.5F}, 1.0F);
    CHECK(std::ranges::equal(flagged.memory(), plain.memory(), same));
  }
}

TEST_CASE("options out of range are refused", "[optimizer]") {
  CHECK(contains(error_of_applying(Sgd{.momentum = 1.0}), "[sgd] the momentum"));
  CHECK(contains(error_of_applying(Sgd{.momentum = -0.1}), "[sgd] the momentum"));
  CHECK(contains(error_of_applying(Sgd{.momentum = std::nan("")}), "[sgd] the momentum"));
  CHECK(contains(error_of_applying(Sgd{.nesterov = true}), "needs a momentum"));
  CHECK(contains(error_of_applying(Sgd{.weight_decay = -1.0}), "[sgd] the weight decay"));
  CHECK(contains(error_of_applying(Sgd{.clip_norm = 0.0}), "[optimizer] the norm"));
  CHECK(contains(error_of_applying(Sgd{.lr = -1.0}), "[learning_rate]"));
  CHECK(contains(error_of_applying(Adam{.beta1 = 1.0}), "[adam] beta1"));
  CHECK(contains(error_of_applying(Adam{.beta2 = -0.5}), "[adam] beta2"));
  CHECK(contains(error_of_applying(Adam{.epsilon = 0.0}), "[adam] epsilon"));
  CHECK(contains(error_of_applying(Adam{.weight_decay = -0.5}), "[adam] the weight decay"));
}

TEST_CASE("optimizer state is named after its parameter and not trained", "[optimizer]") {
  GraphBuilder builder;
  const std::vector parameters{builder.parameter("dense1.weights", {2}, Initializer::zeros())};
  const std::vector gradients{builder.input("g", {2})};
  Optimizer(Adam{}).apply(parameters, gradients, builder.input("info", {4}, DType::int64));
  std::vector<std::string> states;
  for (auto id : builder.graph().sources(kParameter))
    if (!builder.graph().producer(id).trainable) states.push_back(builder.graph().producer(id).name);
  CHECK(states == std::vector<std::string>{"dense1.weights/m", "dense1.weights/v"});
}

namespace {

/// The parameters after some steps with gradients that differ from step to step.
std::vector<Array> trained(const Optimizer& optimizer, int steps) {
  Trained run(optimizer);
  for (int step = 0; step < steps; ++step)
    run.step(step, {0.5F * static_cast<float>(step + 1), -1.0F}, 0.25F * static_cast<float>(step));
  return {run.a(), run.b()};
}

bool is_b(const std::string& name) {
  return name == "b";
}

}  // namespace

TEST_CASE("a group of parameters has an optimizer of its own", "[optimizer]") {
  const Optimizer one = Sgd{.lr = 0.1}, other = Adam{.lr = 0.2};
  const auto mixed = trained(one.with_group(is_b, other), 3);
  CHECK(mixed[0].data == trained(one, 3)[0].data);
  CHECK(mixed[1].data == trained(other, 3)[1].data);
}

TEST_CASE("a frozen group keeps its values", "[optimizer]") {
  const Optimizer all = Sgd{.lr = 0.1, .momentum = 0.5};
  const auto frozen = all.frozen(is_b);
  CHECK(trained(frozen, 3)[0].data == trained(all, 3)[0].data);
  CHECK(trained(frozen, 3)[1].data == std::vector<double>{0.5});
  CHECK(frozen.trains("a"));
  CHECK_FALSE(frozen.trains("b"));
}

TEST_CASE("accumulated gradients make one update of their mean", "[optimizer]") {
  for (const Optimizer& rule : {Optimizer(Sgd{.lr = 0.1, .momentum = 0.5}), Optimizer(Adam{.lr = 0.1})}) {
    Trained whole(rule), parts(rule.accumulating(2));
    for (int update = 0; update < 3; ++update) {
      whole.step(update, {1.0F, -2.0F}, 0.5F);
      parts.step(2 * update, {0.5F, -3.0F}, 2.0F);
      const auto before = parts.a().data;
      parts.step(2 * update + 1, {1.5F, -1.0F}, -1.0F);
      CHECK(parts.a().data != before);
      CHECK(parts.a().data == whole.a().data);
      CHECK(parts.b().data == whole.b().data);
    }
  }
}

TEST_CASE("a step that is not applied adds nothing to an accumulated gradient", "[optimizer]") {
  const Optimizer rule = Sgd{.lr = 0.1};
  Trained parts(rule.accumulating(2), true);
  parts.step(0, {1.0F, 1.0F}, 1.0F);
  parts.step(1, {1.0F, 1.0F}, 1.0F);
  const auto first = parts.a().data;
  CHECK(first[0] == Approx(0.9));
  // The first step of the next update is bad: what the update before left must not count again.
  parts.set_flag(0.0F);
  parts.step(2, {100.0F, 100.0F}, 1.0F);
  parts.set_flag(1.0F);
  parts.step(3, {1.0F, 1.0F}, 1.0F);
  CHECK(parts.a().data[0] == Approx(0.85));
}

TEST_CASE("an average of the parameters follows them", "[optimizer]") {
  Trained run(Optimizer(Sgd{.lr = 1.0}).averaging(0.5));
  run.step(0, {1.0F, 0.0F}, 0.0F);
  run.step(1, {1.0F, 0.0F}, 0.0F);
  run.step(2, {1.0F, 0.0F}, 0.0F);
  // The steps began with 1, 0, -1.
  const auto memory = run.memory();
  const auto average =
      std::ranges::find_if(memory.begin() + 2, memory.end(), [](const Tensor& state) { return state.elements() == 2; });
  CHECK(average->data<float>()[0] == Approx(0.5 * (0.5 * 1.0 + 0.5 * 0.0) + 0.5 * -1.0));
  CHECK(run.a().data[0] == Approx(-2.0));
}

TEST_CASE("gradients are clipped by value", "[optimizer]") {
  Trained run(Sgd{.lr = 1.0, .clip_value = 0.5});
  run.step(0, {3.0F, -0.25F}, -7.0F);
  CHECK(run.a().data == std::vector<double>{0.5, -1.75});
  CHECK(run.b().data == std::vector<double>{1.0});
}

TEST_CASE("options of optimizers out of range are refused", "[optimizer][errors]") {
  const Optimizer rule = Sgd{};
  CHECK(contains(error_of([&] { rule.accumulating(0); }), "[optimizer]"));
  CHECK(contains(error_of([&] { rule.averaging(1.0); }), "[optimizer]"));
  CHECK(contains(error_of([&] { rule.with_group(is_b, rule.accumulating(2)); }), "not of a group"));
  CHECK(contains(error_of([] { Trained(Sgd{.clip_value = 0.0}); }), "[optimizer] the value to clip at"));
  CHECK(contains(error_of([] { Trained(RmsProp{.decay = 1.0}); }), "[rms_prop]"));
  CHECK(contains(error_of([] { Trained(Adagrad{.epsilon = 0.0}); }), "[adagrad]"));
  CHECK(contains(error_of([] { Trained(Lamb{.weight_decay = -1.0}); }), "[lamb]"));
  CHECK(contains(error_of([] { Trained(AdamW{.beta1 = 1.0}); }), "[adamw]"));
}

TEST_CASE("every rule lowers a quadratic loss", "[optimizer]") {
  for (const Optimizer& rule : {Optimizer(AdamW{.lr = 0.05}), Optimizer(Lamb{.lr = 0.05}),
                                Optimizer(RmsProp{.lr = 0.05}), Optimizer(Adagrad{.lr = 0.3})}) {
    Trained run(rule);
    for (int step = 0; step < 60; ++step) {
      const auto a = run.a().data;
      run.step(step, {static_cast<float>(a[0]), static_cast<float>(a[1])}, static_cast<float>(run.b().data[0]));
    }
    CHECK(std::abs(run.a().data[1]) < 0.8);
  }
}

}  // namespace troupe::ops_test
