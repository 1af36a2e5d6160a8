#include "troupe/ops/nn/update_rules.hpp"

#include <cmath>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/reference.hpp"
#include "troupe/tests/ops/nn/trained.hpp"

namespace troupe::ops_test {

namespace {

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
  // The velocities are 1 and 1.5, the steps with Nesterov's momentum 1.5 and 1.75.
  CHECK(plain.a().data == std::vector<double>{-1.5, -2.0});
  CHECK(nesterov.a().data == std::vector<double>{-2.25, -2.0});
}

TEST_CASE("Adam agrees with its reference over many steps", "[optimizer]") {
  Trained trained(Adam{.lr = 0.05, .weight_decay = 0.01});
  const auto reference = reference::adam_update({.weight_decay = 0.01});
  Arrays state{trained.a(), Array({2}), Array({2}), scalar(0.0)};
  for (std::int64_t step = 0; step < 50; ++step) {
    const std::vector<float> da{static_cast<float>(step % 7) - 3.0F, 0.01F};
    trained.step(step, da, 0.0F);
    Array gradient({2});
    gradient.data = {static_cast<double>(da[0]), static_cast<double>(da[1])};
    state = reference.forward({state[0], state[1], state[2], state[3], gradient, scalar(0.05)});
    CHECK(distance(trained.a(), state[0]) < 5e-6);
  }
}

TEST_CASE("the first step of Adam is as long as the rate for every gradient", "[optimizer]") {
  Trained trained(Adam{.lr = 0.125});
  trained.step(0, {1e-3F, -1e4F}, 7.0F);
  CHECK(trained.a().data[0] == Approx(0.875).epsilon(1e-5));
  CHECK(trained.a().data[1] == Approx(-1.875).epsilon(1e-6));
  CHECK(trained.b().data[0] == Approx(0.375).epsilon(1e-6));
  // A step as long as the parameter leaves only the error.
  Trained to_zero(Adam{.lr = 1.0});
  to_zero.step(0, {1.0F, 0.0F}, 0.0F);
  CHECK(std::abs(to_zero.a().data[0]) < 1e-6);
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

TEST_CASE("options of rules out of range are refused", "[optimizer]") {
  CHECK(contains(error_of_applying(Sgd{.momentum = 1.0}), "[sgd] the momentum"));
  CHECK(contains(error_of_applying(Sgd{.momentum = -0.1}), "[sgd] the momentum"));
  CHECK(contains(error_of_applying(Sgd{.momentum = std::nan("")}), "[sgd] the momentum"));
  CHECK(contains(error_of_applying(Sgd{.nesterov = true}), "needs a momentum"));
  CHECK(contains(error_of_applying(Sgd{.weight_decay = -1.0}), "[sgd] the weight decay"));
  CHECK(contains(error_of_applying(Sgd{.lr = -1.0}), "[learning_rate]"));
  CHECK(contains(error_of_applying(Adam{.beta1 = 1.0}), "[adam] beta1"));
  CHECK(contains(error_of_applying(Adam{.beta2 = -0.5}), "[adam] beta2"));
  CHECK(contains(error_of_applying(Adam{.epsilon = 0.0}), "[adam] epsilon"));
  CHECK(contains(error_of_applying(Adam{.weight_decay = -0.5}), "[adam] the weight decay"));
  CHECK(contains(error_of_applying(RmsProp{.decay = 1.0}), "[rms_prop]"));
  CHECK(contains(error_of_applying(Adagrad{.epsilon = 0.0}), "[adagrad]"));
  CHECK(contains(error_of_applying(Lamb{.weight_decay = -1.0}), "[lamb]"));
  CHECK(contains(error_of_applying(AdamW{.beta1 = 1.0}), "[adamw]"));
}

}  // namespace troupe::ops_test
