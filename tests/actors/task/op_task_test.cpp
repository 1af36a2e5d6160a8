#include "troupe/actors/task/op_task.hpp"

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

OpCall product_over_rows() {
  const TensorInfo rows{Shape{kBatch, 2}, DType::float32};
  return {&kMatmul,
          {{"transpose_a", true}, {"transpose_b", false}, {"relu", false}},
          {rows, rows},
          {{Shape{2, 2}, DType::float32}}};
}

std::vector<float> run_task(OpTask& task, std::int64_t rows) {
  const Tensor a(Shape{rows, 2}, DType::float32);
  for (auto& element : a.mutable_data<float>()) element = 1.0F;
  const std::vector<Tensor> inputs{a, a};
  const std::vector<Tensor> outputs{Tensor::from<float>({2, 2}, std::vector<float>(4, 9.0F))};
  const Tensor scratch(Shape{static_cast<std::int64_t>(task.scratch_bytes())}, DType::uint8);
  const auto stream = backend_of(DeviceType::cpu).make_stream({});
  CHECK(task.fire({inputs, outputs, 0, rows, {*stream, scratch.address()}}));
  return {outputs[0].data<float>().begin(), outputs[0].data<float>().end()};
}

}  // namespace

TEST_CASE("a kernel for every number of rows, and zeros for none") {
  OpTask task(product_over_rows(), {});
  for (std::int64_t rows : {3, 0, 5, 3}) {
    task.prepare(rows);
    CHECK(run_task(task, rows) == std::vector<float>(4, static_cast<float>(rows)));
  }
}

TEST_CASE("a device that there is not is refused when the task prepares") {
  OpTask task(product_over_rows(), {DeviceType::cuda, 99});
  CHECK_THROWS_AS(task.prepare(3), Error);
}
