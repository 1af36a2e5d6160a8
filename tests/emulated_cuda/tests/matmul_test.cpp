#include <cmath>
#include <functional>

#include "cublasLt.h"
#include "troupe/tests/emulated_cuda/tests/program.hpp"

namespace {

constexpr int kM = 37, kN = 21, kK = 50, kMaskLd = 128;

std::vector<float> numbers(int count, unsigned seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return values;
}

/// D (m x n) = A^T (A is k x m) times B (k x n), column by column, with an epilogue.
struct Product {
  TestStream stream;
  std::vector<float> a = numbers(kK * kM, 1), b = numbers(kK * kN, 2), c = numbers(kM * kN, 3), bias = numbers(kM, 4);
  DeviceArray<float> device_a{a}, device_b{b}, device_c{c}, device_bias{bias}, d{kM * kN};
  DeviceArray<unsigned char> mask{kMaskLd / 8 * kN};
  DeviceArray<float> workspace{kM * kN};
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a_layout = nullptr, b_layout = nullptr, d_layout = nullptr;

  explicit Product(cublasLtEpilogue_t epilogue) {
    cublasLtCreate(&handle);
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatrixLayoutCreate(&a_layout, CUDA_R_32F, kK, kM, kK);
    cublasLtMatrixLayoutCreate(&b_layout, CUDA_R_32F, kK, kN, kK);
    cublasLtMatrixLayoutCreate(&d_layout, CUDA_R_32F, kM, kN, kM);
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<float*>(device_bias));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<unsigned char*>(mask));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{kMaskLd});
  }
  ~Product() {
    for (auto layout : {a_layout, b_layout, d_layout}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(desc);
    cublasLtDestroy(handle);
  }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    REQUIRE(cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS);
  }

  std::vector<cublasLtMatmulHeuristicResult_t> algorithms() {
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulPreferenceCreate(&preference);
    const std::uint64_t bytes = kM * kN * sizeof(float);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
    std::vector<cublasLtMatmulHeuristicResult_t> results(8);
    int count = 0;
    const auto status = cublasLtMatmulAlgoGetHeuristic(handle, desc, a_layout, b_layout, d_layout, d_layout, preference,
                                                       8, results.data(), &count);
    cublasLtMatmulPreferenceDestroy(preference);
    REQUIRE(status == CUBLAS_STATUS_SUCCESS);
    results.resize(static_cast<std::size_t>(count));
    return results;
  }

  std::vector<float> run(const cublasLtMatmulHeuristicResult_t& result) {
    const float alpha = 2, beta = 0.5f;
    REQUIRE(cublasLtMatmul(handle, desc, &alpha, device_a, a_layout, device_b, b_layout, &beta, device_c, d_layout, d,
                           d_layout, &result.algo, workspace, result.workspaceSize, stream) == CUBLAS_STATUS_SUCCESS);
    return d.values(stream);
  }

  double plain(int row, int column) const {
    double sum = 0;
    for (int k = 0; k < kK; ++k) sum += double{a[index(k, row, kK)]} * b[index(k, column, kK)];
    return 2 * sum + 0.5 * c[index(row, column, kM)];
  }

  static std::size_t index(int row, int column, int ld) { return static_cast<std::size_t>(column * ld + row); }
};

void require_equal(const std::vector<float>& got, const std::function<double(int, int)>& expected) {
  for (int column = 0; column < kN; ++column) {
    for (int row = 0; row < kM; ++row) {
      const double value = expected(row, column);
      REQUIRE(std::abs(got[Product::index(row, column, kM)] - value) < 1e-4 * (1 + std::abs(value)));
    }
  }
}

}  // namespace

TEST_CASE("three algorithms differ in the last bits", "[matmul]") {
  Product product(CUBLASLT_EPILOGUE_DEFAULT);
  const auto algorithms = product.algorithms();
  REQUIRE(algorithms.size() == 3);
  REQUIRE(algorithms[1].workspaceSize > 0);
  std::vector<std::vector<float>> results;
  for (const auto& algorithm : algorithms) {
    results.push_back(product.run(algorithm));
    require_equal(results.back(), [&](int row, int column) { return product.plain(row, column); });
    REQUIRE(product.run(algorithm) == results.back());
  }
  REQUIRE(results[0] != results[1]);
  REQUIRE(results[0] != results[2]);
  REQUIRE(results[1] != results[2]);
}

TEST_CASE("a mask of the forward product serves the backward one", "[matmul]") {
  Product product(CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
  const auto algorithm = product.algorithms()[0];
  const auto before = [&](int row, int column) {
    return product.plain(row, column) + product.bias[static_cast<std::size_t>(row)];
  };
  require_equal(product.run(algorithm), [&](int row, int column) { return std::max(0.0, before(row, column)); });
  product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DRELU_BGRAD);
  const auto gradient = [&](int row, int column) { return before(row, column) > 0 ? product.plain(row, column) : 0.0; };
  require_equal(product.run(algorithm), gradient);
  const auto bias_gradient = product.device_bias.values(product.stream);
  for (int row = 0; row < kM; ++row) {
    double sum = 0;
    for (int column = 0; column < kN; ++column) sum += gradient(row, column);
    REQUIRE(bias_gradient[static_cast<std::size_t>(row)] == Approx(sum).margin(1e-4));
  }
}

TEST_CASE("there is no algorithm for the gradient of an activation of sums of one product", "[matmul]") {
  Product product(CUBLASLT_EPILOGUE_DRELU_BGRAD);
  cublasLtMatrixLayout_t row_a, row_b;
  cublasLtMatrixLayoutCreate(&row_a, CUDA_R_32F, 1, kM, 1);
  cublasLtMatrixLayoutCreate(&row_b, CUDA_R_32F, 1, kN, 1);
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulPreferenceCreate(&preference);
  cublasLtMatmulHeuristicResult_t result;
  int count = 0;
  CHECK(cublasLtMatmulAlgoGetHeuristic(product.handle, product.desc, row_a, row_b, product.d_layout, product.d_layout,
                                       preference, 1, &result, &count) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(count == 0);
  cublasLtMatmulPreferenceDestroy(preference);
  for (auto layout : {row_a, row_b}) cublasLtMatrixLayoutDestroy(layout);
}

TEST_CASE("the gradient of a bias is a sum over k of B", "[matmul]") {
  Product product(CUBLASLT_EPILOGUE_BGRADB);
  product.run(product.algorithms()[0]);
  const auto got = product.device_bias.values(product.stream);
  for (int column = 0; column < kN; ++column) {
    double sum = 0;
    for (int k = 0; k < kK; ++k) sum += product.b[Product::index(k, column, kK)];
    REQUIRE(got[static_cast<std::size_t>(column)] == Approx(sum).margin(1e-5));
  }
}

TEST_CASE("what cuBLASLt refuses", "[matmul]") {
  Product product(CUBLASLT_EPILOGUE_RELU_AUX);
  const auto algorithms = product.algorithms();
  const float one = 1, zero = 0;
  const auto multiply = [&](const float* a, std::size_t workspace_bytes) {
    return cublasLtMatmul(product.handle, product.desc, &one, a, product.a_layout, product.device_b, product.b_layout,
                          &zero, nullptr, product.d_layout, product.d, product.d_layout, &algorithms[1].algo,
                          product.workspace, workspace_bytes, product.stream);
  };
  REQUIRE(multiply(product.device_a, algorithms[1].workspaceSize) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(multiply(product.device_a, 16) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(multiply(product.device_a + 1, algorithms[1].workspaceSize) == CUBLAS_STATUS_INVALID_VALUE);
  product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{kM});
  REQUIRE(multiply(product.device_a, algorithms[1].workspaceSize) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(cudaStreamSynchronize(product.stream) == cudaSuccess);
}
