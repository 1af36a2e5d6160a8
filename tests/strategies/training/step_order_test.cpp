#include "troupe/strategies/training/step_order.hpp"

#include <algorithm>

#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

StepMetrics step(std::int64_t number, std::int64_t rows = 4) {
  StepMetrics metrics;
  metrics.step = number;
  metrics.rows = rows;
  return metrics;
}

std::vector<std::int64_t> steps_of(const std::vector<StepMetrics>& steps) {
  std::vector<std::int64_t> steps_of;
  for (const auto& metrics : steps) steps_of.push_back(metrics.step);
  return steps_of;
}

}  // namespace

TEST_CASE("steps come out in their order, as soon as none before them is missing") {
  StepOrder order;
  order.begin(3);
  order.add(step(5));
  CHECK(order.take().empty());
  order.add(step(3));
  CHECK(steps_of(order.take()) == std::vector<std::int64_t>{3});
  order.add(step(4));
  CHECK(steps_of(order.take()) == std::vector<std::int64_t>{4, 5});
}

TEST_CASE("a step that was computed again counts once") {
  StepOrder order;
  order.begin(0);
  order.add(step(0));
  order.add(step(0));
  CHECK(steps_of(order.take()) == std::vector<std::int64_t>{0});
  order.add(step(0));
  order.add(step(1));
  CHECK(steps_of(order.take()) == std::vector<std::int64_t>{1});
}

TEST_CASE("in place of a step whose report was lost stands one without rows") {
  StepOrder order;
  order.begin(0);
  order.add(step(0));
  order.add(step(2));
  order.end(4);
  const auto steps = order.take();
  CHECK(steps_of(steps) == std::vector<std::int64_t>{0, 1, 2, 3});
  std::vector<std::int64_t> rows;
  for (const auto& metrics : steps) rows.push_back(metrics.rows);
  CHECK(rows == std::vector<std::int64_t>{4, 0, 4, 0});
}

TEST_CASE("steps that arrive in any order come out once each, in order") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    StepOrder order;
    order.begin(0);
    std::vector<std::int64_t> coming(40), out;
    for (std::size_t i = 0; i < coming.size(); ++i) coming[i] = static_cast<std::int64_t>(i);
    for (std::size_t i = coming.size(); i > 1; --i) std::swap(coming[i - 1], coming[uniform_below(i, seed, 1, i)]);
    for (const auto number : coming) {
      order.add(step(number));
      const auto now = steps_of(order.take());
      out.insert(out.end(), now.begin(), now.end());
    }
    CHECK(out.size() == 40);
    CHECK(std::ranges::is_sorted(out));
  }
}
