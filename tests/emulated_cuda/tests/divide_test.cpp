#include "troupe/ops/cuda/device/divide.cuh"

#include <cstdint>

#include "troupe/tests/catch.hpp"

TEST_CASE("a quotient by a fixed divisor is exact for all numbers below its bound, also for wide ones", "[kernel]") {
  constexpr std::int64_t kNarrow = std::int64_t{1} << 31;
  for (const std::int64_t bound : {std::int64_t{100}, kNarrow - 1, kNarrow, kNarrow + 1, 2 * kNarrow, 8 * kNarrow})
    for (const std::int64_t d :
         {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{7}, std::int64_t{641}, std::int64_t{65'535},
          std::int64_t{65'536}, std::int64_t{65'537}, kNarrow - 1, kNarrow, kNarrow + 1}) {
      CAPTURE(bound, d);
      const troupe::cuda::Divisor divisor(d, bound);
      for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, d - 1, d, d + 1, bound / 2, bound / d * d - 1,
                                   bound / d * d, bound - 2, bound - 1}) {
        if (n < 0 || n >= bound) continue;
        CAPTURE(n);
        CHECK(divisor.quotient(n) == n / d);
      }
    }
}
