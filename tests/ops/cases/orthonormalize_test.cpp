#include <cmath>
#include <limits>

#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/gpu.hpp"

namespace troupe::ops_test {

namespace {

void check_nan(Device device) {
  constexpr auto kNan = std::numeric_limits<float>::quiet_NaN();
  GraphBuilder builder;
  builder.output("y", orthonormalize(builder.input("x", {3, 3})));
  Program program(std::move(builder).build(), 1, device);
  program.bind("x", Tensor::from<float>({3, 3}, {2, 0, 1, 0, kNan, 1, 0, 1, 5}).to(device));
  program.run();
  const auto y = program.output("y").copy_to_host();
  for (std::size_t row = 0; row < 3; ++row) {
    CHECK(y.data<float>()[3 * row] == (row == 0 ? 1.0F : 0.0F));
    CHECK(std::isnan(y.data<float>()[3 * row + 1]));
    CHECK(std::isnan(y.data<float>()[3 * row + 2]));
  }
}

}  // namespace

TEST_CASE("a NaN stays in its column of orthonormalize and in those after it", "[ops]") {
  check_nan(Device{});
}

TEST_CASE("a NaN stays in its column of orthonormalize and in those after it on a GPU", "[.gpu]") {
  if (const auto device = testing::gpu()) check_nan(*device);
}

}  // namespace troupe::ops_test
