#include "troupe/ops/nn/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/nn/trained.hpp"

namespace troupe::ops_test {

namespace {

/// The parameters after `steps` steps, each with other gradients.
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

TEST_CASE("clipping scales all gradients by their common norm", "[optimizer]") {
  Trained trained(Sgd{.lr = 1.0, .clip_norm = 6.5});
  trained.step(0, {3.0F, 4.0F}, 12.0F);
  CHECK(trained.a().data == std::vector<double>{-0.5, -4.0});
  CHECK(trained.b().data == std::vector<double>{-5.5});
  Trained below(Sgd{.lr = 1.0, .clip_norm = 13.0});
  below.step(0, {3.0F, 4.0F}, 12.0F);
  CHECK(below.a().data == std::vector<double>{-2.0, -6.0});
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

TEST_CASE("an update with a flag that is not above 0 changes no bit", "[optimizer]") {
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

TEST_CASE("optimizer state is named after its parameter and not trained", "[optimizer]") {
  GraphBuilder builder;
  const std::vector parameters{builder.parameter("dense1.weights", {2}, Initializer::zeros())};
  const std::vector gradients{builder.input("g", {2})};
  Optimizer(Adam{}).apply(parameters, gradients, builder.input("info", {4}, DType::int64));
  std::vector<std::string> states;
  for (auto id : builder.graph().sources(kParameter))
    if (!builder.graph().producer(id).trainable) states.push_back(builder.graph().producer(id).name);
  CHECK(states == std::vector<std::string>{"dense1.weights/m", "dense1.weights/v", "dense1.weights/adam/updates"});
}

TEST_CASE("states of different meaning have different names", "[optimizer]") {
  const auto states_of = [](const Optimizer& optimizer) {
    GraphBuilder builder;
    const std::vector parameters{builder.parameter("w", {2}, Initializer::zeros())};
    const std::vector gradients{builder.input("g", {2})};
    optimizer.apply(parameters, gradients, builder.input("info", {4}, DType::int64));
    std::vector<std::string> states;
    for (auto id : builder.graph().sources(kParameter))
      if (!builder.graph().producer(id).trainable) states.push_back(builder.graph().producer(id).name);
    return states;
  };
  using Names = std::vector<std::string>;
  CHECK(states_of(RmsProp{}) == Names{"w/squares"});
  CHECK(states_of(Adagrad{}) == Names{"w/sum_of_squares"});
  CHECK(states_of(Sgd{.momentum = 0.5}) == Names{"w/velocity"});
  const auto twice = Optimizer(Sgd{}).accumulating(2);
  CHECK(states_of(twice) == Names{"w/accumulated", "w/accumulated_rows", "w/accumulated_end"});
  CHECK(states_of(twice.of_trainer("b")) == Names{"w/accumulated@b", "w/accumulated_rows@b", "w/accumulated_end@b"});
}

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

TEST_CASE("a frozen group of a group's optimizer keeps its values", "[optimizer]") {
  const Optimizer all = Sgd{.lr = 0.1, .momentum = 0.5};
  const auto any = [](const std::string&) { return true; };
  const auto nested = Optimizer(Adam{}).with_group(any, Optimizer(Adam{}).with_group(any, all.frozen(is_b)));
  CHECK(trained(nested, 3)[0].data == trained(all, 3)[0].data);
  CHECK(trained(nested, 3)[1].data == std::vector<double>{0.5});
  CHECK(nested.trains("a"));
  CHECK_FALSE(nested.trains("b"));
}

TEST_CASE("a group without parameters is refused, with the parameters that there are", "[optimizer][errors]") {
  const Optimizer all(Sgd{.lr = 0.1});
  const auto is = [](const std::string& wanted) {
    return [wanted](const std::string& name) { return name == wanted; };
  };
  const std::vector<std::string> names{"a", "b"};
  const auto refusal = [&](const Optimizer& optimizer) { return error_of([&] { optimizer.expect_members(names); }); };
  CHECK(refusal(all).empty());
  CHECK(refusal(all.frozen(is("a")).with_group(is("b"), Adam{})).empty());
  CHECK(refusal(all.frozen(is("b")).frozen(is("c"))) ==
        "[optimizer] the filter of group 2, given to frozen(), accepts none of the parameters 'a', 'b'");
  CHECK(refusal(all.with_group(is("A"), Adam{})) ==
        "[optimizer] the filter of group 1, given to with_group(), accepts none of the parameters 'a', 'b'");
  const auto any = [](const std::string&) { return true; };
  CHECK(refusal(all.with_group(any, Adam{}).frozen(is("b"))) ==
        "[optimizer] the filter of group 2, given to frozen(), accepts only parameters of groups that were added "
        "before, such as 'b'; add it before them");
  CHECK(refusal(all.frozen(any).frozen(is("b"))).empty());
  CHECK(refusal(all.frozen(is("b")).with_group(is("a"), Optimizer(Adam{}).frozen(is("b")))) ==
        "[optimizer] the filter of group 1 of group 2, given to frozen(), accepts none of the parameters 'a'");
  const auto nested = Optimizer(Adam{}).with_group(is("b"), Optimizer(Adam{}).with_group(is("a"), Adam{}));
  CHECK(refusal(all.with_group(any, nested)) ==
        "[optimizer] the filter of group 1 of group 1 of group 1, given to with_group(), accepts none of the "
        "parameters 'b'");
  const auto freezes_b = all.with_group(any, Optimizer(Adam{}).frozen(is("b")));
  CHECK(refusal(freezes_b.frozen(is("b"))).empty());
  CHECK(contains(refusal(freezes_b.frozen(is("a"))), "only parameters of groups that were added before, such as 'a'"));
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
  // The first step of the next update is not applied. The gradients of the previous update must not count again.
  parts.set_flag(0.0F);
  parts.step(2, {100.0F, 100.0F}, 1.0F);
  parts.set_flag(1.0F);
  parts.step(3, {1.0F, 1.0F}, 1.0F);
  CHECK(parts.a().data[0] == Approx(0.8));
  // An update none of whose steps is applied changes nothing.
  parts.set_flag(0.0F);
  parts.step(4, {1.0F, 1.0F}, 1.0F);
  parts.step(5, {1.0F, 1.0F}, 1.0F);
  CHECK(parts.a().data[0] == Approx(0.8));
  // The update is applied although its last step is not.
  parts.set_flag(1.0F);
  parts.step(6, {1.0F, 1.0F}, 1.0F);
  parts.set_flag(0.0F);
  parts.step(7, {100.0F, 1.0F}, 1.0F);
  CHECK(parts.a().data[0] == Approx(0.7));
}

TEST_CASE("a sum that lacks the first steps of its update has no gradients of another update", "[optimizer]") {
  Trained parts(Optimizer(Sgd{.lr = 1.0}).accumulating(3));
  for (int step = 0; step < 3; ++step) parts.step(step, {3.0F, 0.0F}, 0.0F);
  CHECK(parts.a().data[0] == 1.0 - 3.0);
  // Steps 3, 6 and 7 do not run.
  parts.step(4, {1.0F, 0.0F}, 0.0F);
  parts.step(5, {2.0F, 0.0F}, 0.0F);
  CHECK(parts.a().data[0] == 1.0 - 3.0 - 1.5);
  parts.step(8, {8.0F, 0.0F}, 0.0F);
  CHECK(parts.a().data[0] == 1.0 - 3.0 - 1.5 - 8.0);
}

TEST_CASE("all rows of an accumulated gradient weigh the same", "[optimizer]") {
  Trained parts(Optimizer(Sgd{.lr = 1.0}).accumulating(3));
  parts.set_rows(3);
  parts.step(0, {0.0F, 0.0F}, 0.0F);
  parts.step(1, {0.0F, 0.0F}, 0.0F);
  parts.set_rows(2);
  parts.step(2, {8.0F, 0.0F}, 0.0F);
  CHECK(parts.a().data[0] == Approx(1.0 - 2.0));
}

TEST_CASE("an average begins with the parameter and includes each update", "[optimizer]") {
  Trained run(Optimizer(Sgd{.lr = 1.0}).averaging(0.5), true);
  const auto average = [&] {
    const auto memory = run.memory();
    const auto state =
        std::ranges::find_if(memory.begin() + 2, memory.end(), [](const Tensor& at) { return at.elements() == 2; });
    return state->data<float>()[0];
  };
  // A first step that is not applied.
  run.set_flag(0.0F);
  run.step(0, {1.0F, 0.0F}, 0.0F);
  CHECK(average() == 1.0F);
  run.set_flag(1.0F);
  run.step(1, {1.0F, 0.0F}, 0.0F);
  CHECK(average() == 0.5F * 1.0F + 0.5F * 0.0F);
  run.step(2, {1.0F, 0.0F}, 0.0F);
  CHECK(average() == 0.5F * 0.5F + 0.5F * -1.0F);
  run.set_flag(0.0F);
  run.step(3, {1.0F, 0.0F}, 0.0F);
  CHECK(average() == -0.25F);
  CHECK(run.a().data[0] == -1.0);
}

TEST_CASE("gradients are clipped by value", "[optimizer]") {
  Trained run(Sgd{.lr = 1.0, .clip_value = 0.5});
  run.step(0, {3.0F, -0.25F}, -7.0F);
  CHECK(run.a().data == std::vector<double>{0.5, -1.75});
  CHECK(run.b().data == std::vector<double>{1.0});
}

TEST_CASE("options of optimizers out of range are refused", "[optimizer][errors]") {
  const Optimizer rule = Sgd{};
  CHECK(error_of([&] { rule.accumulating(0); }) == "[optimizer] needs at least one step for an update, not 0");
  CHECK_NOTHROW(rule.accumulating(1));
  CHECK(error_of([&] { rule.averaging(1.0); }) == "[optimizer] the decay of the average must be in [0, 1)");
  CHECK_FALSE(error_of([&] { rule.averaging(-0.1); }).empty());
  CHECK_NOTHROW(rule.averaging(0.0));
  CHECK(contains(error_of([&] { rule.with_group(is_b, rule.accumulating(2)); }), "not to a group"));
  CHECK(contains(error_of([] { Trained(Sgd{.clip_norm = 0.0}); }), "[optimizer] the norm"));
  CHECK(contains(error_of([] { Trained(Sgd{.clip_value = 0.0}); }), "[optimizer] the value to clip at"));
}

}  // namespace troupe::ops_test
