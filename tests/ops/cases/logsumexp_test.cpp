#include "troupe/ops/library/logsumexp.hpp"

#include <cmath>
#include <limits>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/ops/cases/rows.hpp"

namespace troupe::ops_test {

namespace {

void check_special_numbers(Device device) {
  constexpr auto kInfinity = std::numeric_limits<float>::infinity();
  constexpr auto kNan = std::numeric_limits<float>::quiet_NaN();
  const auto y = of_rows(
      device, 2,
      {-kInfinity, -kInfinity, -kInfinity, 3.0F, kInfinity, 3.0F, kInfinity, -kInfinity, kNan, 3.0F, kInfinity, kNan},
      [](Value x) { return logsumexp(x); });
  REQUIRE(y.size() == 6);
  CHECK(y[0] == -kInfinity);
  CHECK(y[1] == 3.0F);
  CHECK(y[2] == kInfinity);
  CHECK(y[3] == kInfinity);
  CHECK(std::isnan(y[4]));
  CHECK(std::isnan(y[5]));
}

}  // namespace

TEST_CASE("logsumexp of infinities is an infinity, and of a NaN a NaN", "[ops]") {
  check_special_numbers(Device{});
}

TEST_CASE("logsumexp of infinities is an infinity on a GPU", "[.gpu]") {
  if (const auto device = testing::gpu()) check_special_numbers(*device);
}

}  // namespace troupe::ops_test
