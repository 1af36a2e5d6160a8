#include "troupe/ops/library/softmax.hpp"

#include <cmath>
#include <limits>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/ops/cases/rows.hpp"

namespace troupe::ops_test {

namespace {

/// Expects the results of the formula in numpy.
void check_rows_at_the_edge(Device device) {
  constexpr auto infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto y = of_rows(device, 3, {0, nan, 1, 0, infinity, 1, -infinity, -infinity, -infinity, -infinity, 2, 2},
                         [](Value x) { return softmax(x); });
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
