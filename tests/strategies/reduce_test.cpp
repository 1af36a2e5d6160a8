#include "troupe/strategies/reduce.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

Tensor row(const std::vector<float>& values) {
  return Tensor::from<float>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

std::vector<float> values(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

}  // namespace

TEST_CASE("over replicas: element by element") {
  const std::vector<Tensor> replicas{row({1, 2}), row({3, 5}), row({5, 8})};
  CHECK(values(reduce(ReduceOp::sum, replicas)) == std::vector<float>{9, 15});
  CHECK(values(reduce(ReduceOp::mean, replicas)) == std::vector<float>{3, 5});
}

TEST_CASE("along axis 0: the mean divides by the true number of rows") {
  const std::vector<Tensor> uneven{row({0, 1, 2, 3}), row({4, 5})};
  CHECK(reduce(ReduceOp::mean, uneven, 0).item<float>() == 2.5F);
  CHECK(reduce(ReduceOp::sum, uneven, 0).item<float>() == 15.0F);
  const std::vector<Tensor> with_empty{row({2, 4}), row({})};
  CHECK(reduce(ReduceOp::mean, with_empty, 0).item<float>() == 3.0F);
  const std::vector<Tensor> matrices{Tensor::from<float>({2, 2}, std::vector<float>{1, 2, 3, 4}),
                                     Tensor::from<float>({1, 2}, std::vector<float>{5, 9})};
  CHECK(values(reduce(ReduceOp::mean, matrices, 0)) == std::vector<float>{3, 5});
}

TEST_CASE("what cannot be reduced is refused") {
  CHECK_THROWS_AS(reduce(ReduceOp::sum, {}), Error);
  CHECK_THROWS_AS(reduce(ReduceOp::sum, std::vector<Tensor>{row({1}), row({1, 2})}), Error);
  CHECK_THROWS_AS(reduce(ReduceOp::mean, std::vector<Tensor>{row({}), row({})}, 0), Error);
  CHECK_THROWS_AS(reduce(ReduceOp::sum, std::vector<Tensor>{row({1})}, 1), Error);
  CHECK_THROWS_AS(reduce(ReduceOp::sum, std::vector<Tensor>{Tensor::scalar(1.0F)}, 0), Error);
}
