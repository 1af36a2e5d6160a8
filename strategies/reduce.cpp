#include "troupe/strategies/reduce.hpp"

#include <vector>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

Shape row_shape(const Tensor& tensor) {
  if (tensor.shape().rank() == 0) throw Error("reduce", "a scalar has no axis 0");
  return Shape(tensor.shape().sizes().subspan(1));
}

}  // namespace

Tensor reduce(ReduceOp op, std::span<const Tensor> per_replica, std::optional<int> axis) {
  if (per_replica.empty()) throw Error("reduce", "needs the value of at least one replica");
  if (axis && *axis != 0) throw Error("reduce", "can reduce along axis 0 only, not " + std::to_string(*axis));
  const auto shape = axis ? row_shape(per_replica[0]) : per_replica[0].shape();
  std::vector<double> sum(static_cast<std::size_t>(shape.elements()), 0.0);
  std::int64_t count = 0;
  for (const auto& value : per_replica) {
    if (!((axis ? row_shape(value) : value.shape()) == shape))
      throw Error("reduce", to_string(value) + " does not fit " + to_string(per_replica[0]));
    const auto rows = axis ? value.shape()[0] : 1;
    count += rows;
    const auto elements = value.data<float>();
    for (std::size_t i = 0; i < elements.size(); ++i) sum[i % sum.size()] += elements[i];
  }
  if (op == ReduceOp::mean && count == 0) throw Error("reduce", "there are no rows to take a mean of");
  Tensor result(shape, DType::float32);
  const auto divisor = op == ReduceOp::mean ? static_cast<double>(count) : 1.0;
  for (std::size_t i = 0; i < sum.size(); ++i) result.mutable_data<float>()[i] = static_cast<float>(sum[i] / divisor);
  return result;
}

}  // namespace troupe
