#include "troupe/ops/cuda/product/product.hpp"

#include <type_traits>

#include "troupe/tests/catch.hpp"

using namespace troupe::cuda;

// The sums of an epilogue are written, so run_with_sums() takes no memory of constants for them.
static_assert(std::is_invocable_v<decltype(&Product::run_with_sums), const Product&, cudaStream_t, const void*,
                                  const void*, void*, void*, void*, const void*>);
static_assert(!std::is_invocable_v<decltype(&Product::run_with_sums), const Product&, cudaStream_t, const void*,
                                   const void*, const void*, void*, void*, const void*>);

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
