#include "troupe/ops/cuda/product/product.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe::cuda;

TEST_CASE("products with another factor have another key") {
  const ProductShape plain{.m = 2, .n = 3, .k = 4};
  auto scaled = plain;
  scaled.factor = 0.125F;
  auto other = plain;
  other.factor = 0.25F;
  CHECK(scaled.key() != plain.key());
  CHECK(scaled.key() != other.key());
  CHECK(ProductShape(plain).key() == plain.key());
}
