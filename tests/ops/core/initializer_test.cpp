#include "troupe/ops/core/initializer.hpp"

#include <algorithm>
#include <cmath>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

std::vector<float> filled(const Initializer& initializer, const Shape& shape, std::uint64_t seed = 1,
                          std::uint64_t stream = 0) {
  const Tensor tensor(shape, DType::float32);
  initializer.fill(tensor, seed, stream);
  const auto elements = tensor.data<float>();
  return {elements.begin(), elements.end()};
}

/// Checks that numbers are spread evenly over +-limit.
void check_spread(const std::vector<float>& numbers, double limit) {
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  CHECK(*low >= -limit * 1.000001);
  CHECK(*high <= limit * 1.000001);
  CHECK(*low < -0.99 * limit);
  CHECK(*high > 0.99 * limit);
  double squares = 0.0;
  for (auto x : numbers) squares += static_cast<double>(x) * x;
  CHECK(squares / static_cast<double>(numbers.size()) == Approx(limit * limit / 3.0).epsilon(0.05));
}

}  // namespace

TEST_CASE("a constant fills every element", "[initializer]") {
  CHECK(filled(Initializer::constant(0.25), {3}) == std::vector<float>(3, 0.25F));
  CHECK(filled(Initializer::zeros(), {2, 2}) == std::vector<float>(4, 0.0F));
}

TEST_CASE("Glorot's limit comes from both fans", "[initializer]") {
  check_spread(filled(Initializer::glorot_uniform(), {100, 50}), std::sqrt(6.0 / 150.0));
  // The window of a convolution multiplies both fans.
  check_spread(filled(Initializer::glorot_uniform(), {3, 3, 16, 32}), std::sqrt(6.0 / (9.0 * 48.0)));
}

TEST_CASE("He's limit comes from the inputs", "[initializer]") {
  check_spread(filled(Initializer::he_uniform(), {100, 50}), std::sqrt(6.0 / 100.0));
  check_spread(filled(Initializer::he_uniform(), {5, 5, 8, 20}), std::sqrt(6.0 / 200.0));
}

TEST_CASE("the smaller limit comes from the inputs too", "[initializer]") {
  check_spread(filled(Initializer::fan_in_uniform(), {100, 50}), std::sqrt(1.0 / 100.0));
  check_spread(filled(Initializer::fan_in_uniform(), {5, 5, 8, 20}), std::sqrt(1.0 / 200.0));
}

TEST_CASE("the same seed and stream give the same bits, others do not", "[initializer]") {
  const auto he = Initializer::he_uniform();
  CHECK(filled(he, {10, 10}, 1, 2) == filled(he, {10, 10}, 1, 2));
  CHECK(filled(he, {10, 10}, 1, 2) != filled(he, {10, 10}, 2, 2));
  CHECK(filled(he, {10, 10}, 1, 2) != filled(he, {10, 10}, 1, 3));
}

TEST_CASE("fans need two axes", "[initializer]") {
  CHECK(contains(error_of([] { filled(Initializer::he_uniform(), {10}); }), "[initializer] fans need at least 2 axes"));
  CHECK_FALSE(error_of([] { filled(Initializer::glorot_uniform(), {}); }).empty());
}

}  // namespace troupe::ops_test
