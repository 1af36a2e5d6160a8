#include <string>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

/// The row and the text of the InvalidSample that two rows of labels or indices [2, ...] cause.
struct Refusal {
  std::int64_t row = -1;
  std::string text;
};

template <class Apply>
Refusal refusal_of(const Tensor& labels, Apply apply) {
  GraphBuilder builder;
  auto shape = labels.shape().list();
  shape[0] = kBatch;
  builder.output("y", apply(builder, builder.input("labels", Shape(shape), DType::int32)));
  const auto graph = std::move(builder).build();
  Program program(graph, labels.shape()[0]);
  program.bind("labels", labels);
  for (const auto id : graph.sources(kInput))
    if (const auto& info = graph.info(id); info.dtype == DType::float32)
      program.bind("logits", Tensor(info.shape.with_rows(labels.shape()[0]), info.dtype));
  try {
    program.run();
  } catch (const InvalidSample& error) {
    return {error.row(), error.what()};
  }
  return {};
}

/// The losses of logits that are all 0, of three classes.
Value losses_of(GraphBuilder& builder, Value labels) {
  auto shape = labels.shape().list();
  shape.push_back(3);
  return softmax_cross_entropy(builder.input("logits", Shape(shape)), labels).loss;
}

}  // namespace

TEST_CASE("a label or an index that cannot be used is named by its row in the part of the batch", "[errors]") {
  const auto of_row = Tensor::from<std::int32_t>({2}, std::vector<std::int32_t>{0, 7});
  const auto in_row = Tensor::from<std::int32_t>({2, 3}, std::vector<std::int32_t>{0, 1, 2, 2, 1, -4});
  const auto one_hots = [](GraphBuilder&, Value x) { return one_hot(x, 5); };
  const auto rows_of_table = [](GraphBuilder& builder, Value x) {
    return gather(builder.constant(Tensor({5, 2}, DType::float32)), x);
  };
  const auto of_seven = refusal_of(of_row, one_hots);
  CHECK(of_seven.row == 1);
  CHECK(of_seven.text == "[one_hot] index 7 of row 1 is not one of the 5 rows");
  const auto of_four = refusal_of(in_row, rows_of_table);
  CHECK(of_four.row == 1);
  const auto of_label = refusal_of(in_row, losses_of);
  CHECK(of_label.row == 1);
  CHECK(of_label.text == "[softmax_cross_entropy] label -4 at position 2 of row 1 is not one of the 3 classes");
  CHECK(refusal_of(of_row, losses_of).text == "[softmax_cross_entropy] label 7 of row 1 is not one of the 3 classes");
  CHECK(of_four.text == "[gather] index -4 at position 2 of row 1 is not one of the 5 rows");
}

}  // namespace troupe::ops_test
