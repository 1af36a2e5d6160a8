#include "troupe/ops/library/softmax.hpp"

#include <cmath>
#include <limits>

#include "troupe/ops/graph/program.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/gpu.hpp"

namespace troupe::ops_test {

namespace {

/// The softmax of rows of three numbers.
std::vector<float> softmax_on(Device device, const std::vector<float>& numbers) {
  const auto rows = static_cast<std::int64_t>(numbers.size() / 3);
  GraphBuilder builder;
  builder.output("y", softmax(builder.input("x", {kBatch, 3})));
  Program program(std::move(builder).build(), rows, device);
  program.bind("x", Tensor::from<float>({rows, 3}, numbers).to(device));
  program.run();
  const auto result = program.output("y").copy_to_host();
  const auto elements = result.data<float>();
  return {elements.begin(), elements.end()};
}

/// Expects what the formula gives, as numpy computes it.
void check_rows_at_the_edge(Device device) {
  constexpr auto infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto y = softmax_on(device, {0, nan, 1, 0, infinity, 1, -infinity, -infinity, -infinity, -infinity, 2, 2});
  REQUIRE(y.size() == 12);
  for (std::size_t i = 0; i < 9; ++i) CHECK(std::isnan(y[i]));
  CHECK(y[9] == 0.0F);
  CHECK(y[10] == 0.5F);
  CHECK(y[11] == 0.5F);
}

}  // namespace

TEST_CASE("a row of softmax with a NaN or with an infinite maximum is NaN as a whole", "[ops]") {
  check_rows_at_the_edge(Device{});
}

TEST_CASE("a row of softmax with a NaN or with an infinite maximum is NaN as a whole on a GPU", "[.gpu]") {
  if (const auto device = testing::gpu()) check_rows_at_the_edge(*device);
}

}  // namespace troupe::ops_test
