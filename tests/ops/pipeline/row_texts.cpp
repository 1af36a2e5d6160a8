#include "troupe/tests/ops/pipeline/row_texts.hpp"

#include <sstream>

namespace troupe::ops_test {

namespace {

template <class T>
void add_elements(std::ostream& text, const Tensor& value) {
  for (const auto element : value.data<T>()) text << " " << +element;
}

}  // namespace

std::string text_of(const Row& row) {
  std::ostringstream text;
  for (const auto& value : row.values) {
    text << (text.tellp() > 0 ? "; " : "") << to_string(value.shape()) << ":";
    switch (value.dtype()) {
      case DType::float32:
        add_elements<float>(text, value);
        break;
      case DType::int32:
        add_elements<std::int32_t>(text, value);
        break;
      case DType::int64:
        add_elements<std::int64_t>(text, value);
        break;
      case DType::uint8:
        add_elements<std::uint8_t>(text, value);
        break;
      default:
        text << " " << name_of(value.dtype());
    }
  }
  return text.str();
}

std::vector<std::string> rows_left(PipelineReader& reader) {
  std::vector<std::string> rows;
  Row row;
  while (reader.next(row)) rows.push_back(text_of(row));
  return rows;
}

std::vector<std::string> rows_of(const Pipeline& pipeline, RowEpoch epoch) {
  auto reader = pipeline.read(epoch);
  return rows_left(reader);
}

Pipeline in_order_only(const Pipeline& pipeline) {
  return pipeline.filter([](const RowView&, RowRandom&) { return true; });
}

Pipeline numbers(std::int64_t rows) {
  return Pipeline::from_function("numbers", {{"n", DType::int32}}, rows, [](std::int64_t index, RowWriter& row) {
    row.make<std::int32_t>("n", {})[0] = static_cast<std::int32_t>(index);
  });
}

Pipeline words(std::int64_t rows) {
  return Pipeline::from_function("words", {{"n", DType::int32}, {"x", DType::float32, {RowField::kVaries}}}, rows,
                                 [](std::int64_t index, RowWriter& row) {
                                   row.make<std::int32_t>("n", {})[0] = static_cast<std::int32_t>(index);
                                   for (auto& x : row.make<float>("x", {index * 5 % 7})) x = static_cast<float>(index);
                                 });
}

}  // namespace troupe::ops_test
