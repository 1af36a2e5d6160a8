#include "troupe/ops/core/shape.hpp"

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

TEST_CASE("a shape knows its sizes from both ends", "[shape]") {
  const Shape shape{4, 5, 6};
  CHECK(shape.rank() == 3);
  CHECK(shape[0] == 4);
  CHECK(shape.back(0) == 6);
  CHECK(shape.back(2) == 4);
  CHECK(shape.elements() == 120);
  CHECK(shape.row_elements() == 30);
  CHECK(shape.list() == std::vector<std::int64_t>{4, 5, 6});
}

TEST_CASE("a scalar has one element and no axis", "[shape]") {
  CHECK(Shape{}.rank() == 0);
  CHECK(Shape{}.elements() == 1);
  CHECK(Shape{}.row_elements() == 1);
  CHECK_FALSE(Shape{}.has_batch());
  CHECK(Shape{7, 0, 2}.elements() == 0);
}

TEST_CASE("the batch is symbolic until the rows are known", "[shape]") {
  const Shape shape{kBatch, 3};
  CHECK(shape.has_batch());
  CHECK(shape.row_elements() == 3);
  CHECK(shape.with_rows(5) == Shape{5, 3});
  CHECK(shape.with_rows(0).elements() == 0);
  CHECK(Shape{2, 3}.with_rows(5) == Shape{2, 3});
  CHECK(contains(error_of([&] { (void)shape.elements(); }), "[shape] [B, 3]"));
}

TEST_CASE("shapes are equal if their ranks and sizes are", "[shape]") {
  CHECK(Shape{2, 3} == Shape{2, 3});
  CHECK_FALSE(Shape{2, 3} == Shape{3, 2});
  CHECK_FALSE(Shape{2} == Shape{2, 0});
  CHECK_FALSE(Shape{} == Shape{0});
  CHECK_FALSE(Shape{kBatch, 3} == Shape{1, 3});
}

TEST_CASE("invalid sizes are refused", "[shape]") {
  CHECK(contains(error_of([] { Shape{1, 2, 3, 4, 5, 6, 7}; }), "[shape] at most 6 axes, not 7"));
  CHECK(error_of([] { Shape{1, 2, 3, 4, 5, 6}; }).empty());
  CHECK(contains(error_of([] { Shape{2, kBatch}; }), "axis 1 is negative"));
  CHECK(contains(error_of([] { Shape{-2}; }), "size -2 of axis 0"));
}

TEST_CASE("a number of elements beyond 63 bits is refused", "[shape]") {
  const std::int64_t big = std::int64_t{1} << 32;
  CHECK(contains(error_of([&] { (void)Shape{big, big}.elements(); }), "[shape] [4294967296, 4294967296]"));
  CHECK(Shape{big, big / 4}.elements() == std::int64_t{1} << 62);
}

TEST_CASE("a shape prints its sizes and B for the batch", "[shape]") {
  CHECK(to_string(Shape{}) == "[]");
  CHECK(to_string(Shape{3}) == "[3]");
  CHECK(to_string(Shape{kBatch, 28, 28, 1}) == "[B, 28, 28, 1]");
}

}  // namespace troupe::ops_test
