#include "troupe/ops/cpu/functions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

using cpu::exp_of;

TEST_CASE("exp is accurate to 2 units in the last place", "[exp]") {
  double worst = 0.0;
  for (int i = -870000; i <= 885000; ++i) {
    const auto x = static_cast<float>(i) * 1e-4F;
    if (x < -87.0F || x > 88.5F) continue;
    const auto exact = std::exp(static_cast<double>(x));
    const auto unit =
        static_cast<double>(std::nextafter(static_cast<float>(exact), std::numeric_limits<float>::infinity())) -
        static_cast<double>(static_cast<float>(exact));
    worst = std::max(worst, std::abs(static_cast<double>(exp_of(x)) - exact) / unit);
  }
  CHECK(worst < 2.0);
}

TEST_CASE("exp of 0 is 1, of large numbers infinity, and of very negative ones almost 0", "[exp]") {
  const auto infinity = std::numeric_limits<float>::infinity();
  CHECK(exp_of(0.0F) == 1.0F);
  CHECK(exp_of(-0.0F) == 1.0F);
  CHECK(exp_of(1000.0F) == infinity);
  CHECK(exp_of(infinity) == infinity);
  CHECK(exp_of(-1000.0F) > 0.0F);
  CHECK(exp_of(-1000.0F) < 2e-38F);
  CHECK(exp_of(-infinity) < 2e-38F);
  CHECK(std::isnan(exp_of(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace troupe::ops_test
