#include "troupe/ops/nn/schedule.hpp"

#include <cmath>
#include <limits>

#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

float rate_of_op(const Schedule& schedule, std::int64_t step) {
  GraphBuilder builder;
  builder.output("rate", schedule.apply(builder.input("info", {4}, DType::int64)));
  Program program(std::move(builder).build(), 0);
  program.bind("info", Tensor::from<std::int64_t>({4}, std::vector<std::int64_t>{1, 2, 3, step}));
  program.run();
  return program.output("rate").item<float>();
}

std::string error_of_applying(const Schedule& schedule) {
  GraphBuilder builder;
  return error_of([&] { schedule.apply(builder.input("info", {4}, DType::int64)); });
}

}  // namespace

TEST_CASE("a number is a constant rate", "[schedule]") {
  const Schedule schedule = 0.1;
  for (const std::int64_t step : {0, 1, 1000000}) CHECK(schedule.at(step) == 0.1);
}

TEST_CASE("a step schedule decays every period", "[schedule]") {
  const auto schedule = Schedule::step_decay(1.0, 10, 0.5);
  CHECK(schedule.at(0) == 1.0);
  CHECK(schedule.at(9) == 1.0);
  CHECK(schedule.at(10) == 0.5);
  CHECK(schedule.at(29) == 0.25);
  CHECK(schedule.at(30) == 0.125);
}

TEST_CASE("a cosine goes from the rate to the floor and stays there", "[schedule]") {
  const auto schedule = Schedule::cosine(0.9, 120, 0.1);
  CHECK(schedule.at(0) == Approx(0.9));
  CHECK(schedule.at(40) == Approx(0.1 + 0.8 * 0.75));
  CHECK(schedule.at(60) == Approx(0.5));
  CHECK(schedule.at(80) == Approx(0.1 + 0.8 * 0.25));
  CHECK(schedule.at(120) == Approx(0.1));
  CHECK(schedule.at(100000) == Approx(0.1));
  CHECK(Schedule::cosine(0.5, 10).at(10) == Approx(0.0).margin(1e-15));
}

TEST_CASE("a warm-up rises linearly to the rate of the schedule", "[schedule]") {
  const auto constant = Schedule(0.8).with_warm_up(4);
  CHECK(constant.at(0) == Approx(0.2));
  CHECK(constant.at(1) == Approx(0.4));
  CHECK(constant.at(3) == Approx(0.8));
  CHECK(constant.at(4) == Approx(0.8));
  const auto cosine = Schedule::cosine(1.0, 8).with_warm_up(4);
  CHECK(cosine.at(2) == Approx(0.75 * 0.5 * (1.0 + std::sqrt(0.5))));
  CHECK(cosine.at(4) == Approx(0.5));
}

TEST_CASE("the op gives the rates of the schedule", "[schedule]") {
  for (const auto& schedule : {Schedule(0.3), Schedule::step_decay(1.0, 3, 0.1), Schedule::cosine(0.7, 9, 0.2),
                               Schedule::cosine(0.7, 9, 0.2).with_warm_up(5)})
    for (const std::int64_t step : {0, 2, 3, 8, 9, 50})
      CHECK(rate_of_op(schedule, step) == static_cast<float>(schedule.at(step)));
}

TEST_CASE("fields out of range are refused", "[schedule]") {
  CHECK(contains(error_of_applying(-0.1), "[learning_rate] the rate must be 0 or more"));
  CHECK_FALSE(error_of_applying(std::numeric_limits<double>::quiet_NaN()).empty());
  CHECK_FALSE(error_of_applying(std::numeric_limits<double>::infinity()).empty());
  CHECK(contains(error_of_applying(Schedule::step_decay(0.1, 0, 0.5)), "the period"));
  CHECK(contains(error_of_applying(Schedule::cosine(0.1, -1)), "the period"));
  CHECK(contains(error_of_applying(Schedule(0.1).with_warm_up(-1)), "the warm-up"));
  CHECK(error_of_applying(0.0).empty());
  CHECK(error_of_applying(Schedule::step_decay(0.1, 1, 0.0)).empty());
  CHECK(contains(error_of_applying(Schedule::step_decay(0.1, 1, -0.1)), "the decay must be 0 or more"));
  CHECK(error_of_applying(Schedule::cosine(0.1, 1)).empty());
}

TEST_CASE("a schedule is a user's table or function", "[schedule]") {
  const auto table = Schedule::from_table({0.5F, 0.25F, 0.125F});
  for (const std::int64_t step : {0, 1, 2, 3, 900})
    CHECK(rate_of_op(table, step) == static_cast<float>(table.at(step)));
  CHECK(table.at(900) == 0.125);
  const auto function =
      Schedule::from_function([](std::int64_t step) { return 1.0 / static_cast<double>(step + 1); }, 5);
  CHECK(rate_of_op(function, 3) == 0.25F);
  CHECK(rate_of_op(function, 50) == 0.2F);
  CHECK(rate_of_op(table.with_warm_up(2), 0) == 0.25F);
  CHECK(contains(error_of([] { Schedule::from_table({}); }), "[learning_rate] the table of rates is empty"));
  CHECK(contains(error_of([] { Schedule::from_table({0.1F, -0.1F}); }), "the rate of step 1"));
}

TEST_CASE("a schedule may be built from ops", "[schedule]") {
  const auto inverse = Schedule::from_ops([](Value step) { return 0.5 / (step + 1.0); });
  for (const std::int64_t step : {0, 1, 3}) CHECK(rate_of_op(inverse, step) == 0.5F / static_cast<float>(step + 1));
  CHECK(rate_of_op(inverse.with_warm_up(4), 1) == 0.125F);
  CHECK(contains(error_of_applying(Schedule::from_ops([](Value) { return Value(); })), "a float32 scalar"));
  CHECK(contains(error_of([&] { inverse.at(3); }), "on the device only"));
}

}  // namespace troupe::ops_test
