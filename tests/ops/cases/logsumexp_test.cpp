#include "troupe/ops/library/logsumexp.hpp"

#include <cmath>
#include <limits>

#include "troupe/ops/graph/program.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/gpu.hpp"

namespace troupe::ops_test {

namespace {

/// The results for rows of two numbers.
std::vector<float> logsumexp_on(Device device, const std::vector<float>& numbers) {
  const auto rows = static_cast<std::int64_t>(numbers.size() / 2);
  GraphBuilder builder;
  builder.output("y", logsumexp(builder.input("x", {kBatch, 2})));
  Program program(std::move(builder).build(), rows, device);
  program.bind("x", Tensor::from<float>({rows, 2}, numbers).to(device));
  program.run();
  const auto result = program.output("y").copy_to_host();
  const auto elements = result.data<float>();
  return {elements.begin(), elements.end()};
}

void check_special_numbers(Device device) {
  constexpr auto kInfinity = std::numeric_limits<float>::infinity();
  constexpr auto kNan = std::numeric_limits<float>::quiet_NaN();
  const auto y = logsumexp_on(device, {-kInfinity, -kInfinity, -kInfinity, 3.0F, kInfinity, 3.0F, kInfinity, -kInfinity,
                                       kNan, 3.0F, kInfinity, kNan});
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
