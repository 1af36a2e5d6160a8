#include "troupe/ops/core/matmul_precision.hpp"

#include <atomic>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

std::atomic<MatmulPrecision> current_precision{MatmulPrecision::float32};

}  // namespace

void set_matmul_precision(MatmulPrecision precision) {
  current_precision = precision;
}

MatmulPrecision matmul_precision() {
  return current_precision;
}

MatmulPrecision parse_precision(std::string_view text) {
  if (text == "float32") return MatmulPrecision::float32;
  if (text == "tf32") return MatmulPrecision::tf32;
  if (text == "bfloat16") return MatmulPrecision::bfloat16;
  if (text == "float16") return MatmulPrecision::float16;
  throw Error("precision", "'" + std::string(text) + "' is not float32, tf32, bfloat16 or float16");
}

DType dtype_of(MatmulPrecision precision) {
  if (precision == MatmulPrecision::bfloat16) return DType::bfloat16;
  return precision == MatmulPrecision::float16 ? DType::float16 : DType::float32;
}

}  // namespace troupe
