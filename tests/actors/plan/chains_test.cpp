#include "troupe/actors/plan/chains.hpp"

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/lower.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// The names of the ops of every segment of a graph of float32[size, size] from an input x to an output y.
std::vector<std::vector<std::string>> chains_of(std::int64_t size, const std::function<Value(Value)>& graph) {
  GraphBuilder builder;
  builder.output("y", graph(builder.input("x", {size, size})));
  Plan plan;
  PlanActor source;
  source.name = "source";
  source.role = ActorRole::source;
  source.pacing = Pacing::source;
  source.alone = true;
  source.outputs.push_back({.info = {Shape{size, size}, DType::float32}});
  source.make_task = function_source([](std::int64_t) { return 1; }, [](const Firing&) {});
  const auto from = plan.add(source);
  const auto outputs = lower(plan, std::move(builder).build(), {.inputs = {{"x", {from, 0}}}});
  std::vector<float> record;
  plan.connect(outputs.at("y"), plan.add(recording_sink("sink", record)));
  const auto grouped = chain(plan);
  std::vector<std::vector<std::string>> names;
  for (const auto& segment : grouped.segments) {
    if (grouped.actors[segment.actors[0]].role != ActorRole::op) continue;
    auto& list = names.emplace_back();
    for (auto actor : segment.actors)
      if (grouped.actors[actor].role == ActorRole::op) list.push_back(grouped.actors[actor].name);
  }
  return names;
}

using Names = std::vector<std::vector<std::string>>;

constexpr std::int64_t kLargeSide = 256, kSmallSide = 4;

}  // namespace

TEST_CASE("ops that follow each other are one segment") {
  CHECK(chains_of(kLargeSide, [](Value x) { return matmul(matmul(matmul(x, x), x), x); }) ==
        Names{{"matmul@0", "matmul_2@0", "matmul_3@0"}});
}

TEST_CASE("at a fork one branch goes on in the segment and the others begin their own") {
  const auto names = chains_of(kLargeSide, [](Value x) {
    const auto fork = matmul(x, x);
    const auto one = matmul(matmul(fork, x), x), other = matmul(matmul(fork, x), x);
    return add(one, other);
  });
  CHECK(names == Names{{"matmul@0", "matmul_2@0", "matmul_3@0"}, {"matmul_4@0", "matmul_5@0"}, {"add@0"}});
}

TEST_CASE("a value that is read again behind what follows it makes no fork") {
  CHECK(chains_of(kLargeSide, [](Value x) {
          const auto a = matmul(x, x);
          const auto b = matmul(a, x);
          return matmul(b, a);
        }) == Names{{"matmul@0", "matmul_2@0", "matmul_3@0"}});
}

TEST_CASE("small ops belong to the segment that they follow, in every branch") {
  const auto names = chains_of(kSmallSide, [](Value x) {
    const auto fork = matmul(x, x);
    return add(matmul(fork, x), matmul(matmul(fork, x), x));
  });
  REQUIRE(names.size() == 1);
  CHECK(names[0].size() == 5);
}

TEST_CASE("an op that multiplies much is not small, however little it reads") {
  constexpr std::int64_t kSize = 96;  // 108 KiB of operands and result, 885 thousand multiply-adds
  const auto branches = [](Value (*branch)(Value, Value)) {
    return chains_of(kSize, [&](Value x) {
      const auto fork = relu(x);
      return add(branch(fork, fork), branch(relu(fork), fork));
    });
  };
  CHECK(branches([](Value a, Value b) { return add(a, b); }).size() == 1);
  CHECK(branches([](Value a, Value b) { return matmul(a, b); }).size() > 1);
}
