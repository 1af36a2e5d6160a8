#include "troupe/actors/shard/row_lookup.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

/// Three indices of each row of the batch, rows of 2 x 2 elements.
const RowLookup kLookup{{Shape{10, 2, 2}, DType::float32}, {Shape{kBatch, 3}, DType::int32}, {1, 2}};

}  // namespace

TEST_CASE("rows and gradients have the shapes of the indices") {
  CHECK(to_string(kLookup.rows()) == "float32[B, 3, 2, 2]");
  CHECK(to_string(kLookup.gradients()) == "float32[B, 13]");
  CHECK(kLookup.filled_by(0) == 0);
  CHECK(kLookup.filled_by(3) == 1);
  CHECK(kLookup.filled_by(4) == 2);
}

TEST_CASE("magnitude follows the gradients of each row of the batch") {
  CHECK(kLookup.gradient_offset(0) == 0);
  CHECK(kLookup.gradient_offset(2) == 8);
  CHECK(kLookup.gradient_offset(3) == 13);
  Tensor gradients({2, 13}, DType::float32);
  gradients.mutable_data<float>()[12] = -1.0F;
  CHECK(kLookup.magnitude(gradients) == -1.0F);
  CHECK(kLookup.magnitude(Tensor({0, 13}, DType::float32)) == 0.0F);
}

TEST_CASE("indices of either width are read, and refused where there is no such row") {
  CHECK(read_indices(Tensor::from<std::int32_t>({2, 2}, {0, 9, 3, 3}), 10, "table") ==
        std::vector<std::int64_t>{0, 9, 3, 3});
  CHECK(read_indices(Tensor::from<std::int64_t>({1}, {7}), 10, "table") == std::vector<std::int64_t>{7});
  CHECK_THROWS_WITH(read_indices(Tensor::from<std::int64_t>({2}, {7, 10}), 10, "table"),
                    "[table] index 10 of row 1 is not one of the 10 rows");
  CHECK_THROWS_WITH(read_indices(Tensor::from<std::int32_t>({3, 2}, {0, 1, 2, 3, 4, -1}), 10, "table"),
                    "[table] index -1 at position 1 of row 2 is not one of the 10 rows");
}
