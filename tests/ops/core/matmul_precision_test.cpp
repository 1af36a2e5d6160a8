#include "troupe/ops/core/matmul_precision.hpp"

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

TEST_CASE("a precision is read from its name, and any other word is refused", "[precision]") {
  CHECK(parse_precision("float32") == MatmulPrecision::float32);
  CHECK(parse_precision("tf32") == MatmulPrecision::tf32);
  CHECK(parse_precision("bfloat16") == MatmulPrecision::bfloat16);
  CHECK(parse_precision("float16") == MatmulPrecision::float16);
  for (const auto* text : {"", "bf16", "Float16", "float32 "})
    CHECK(error_of([&] { parse_precision(text); }) ==
          "[precision] '" + std::string(text) + "' is not float32, tf32, bfloat16 or float16");
}

TEST_CASE("a 16-bit precision is a dtype between products, the others are float32", "[precision]") {
  CHECK(dtype_of(MatmulPrecision::float32) == DType::float32);
  CHECK(dtype_of(MatmulPrecision::tf32) == DType::float32);
  CHECK(dtype_of(MatmulPrecision::bfloat16) == DType::bfloat16);
  CHECK(dtype_of(MatmulPrecision::float16) == DType::float16);
}

}  // namespace troupe::ops_test
