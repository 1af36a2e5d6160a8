#include <cstring>
#include <numeric>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/dataset.hpp"
#include "troupe/ops/data/normalize.hpp"

namespace troupe {

std::optional<Dataset::StoredField> Dataset::stored(std::size_t field) const {
  const auto& column = columns_.at(field);
  if (column.write) return std::nullopt;
  const auto& shape = fields()[field].info.shape;
  const auto first = column.first + skipped_ * shape.row_elements();
  const auto rows = column.array.view(shape.with_rows(rows_), column.array.dtype(),
                                      static_cast<std::size_t>(first) * size_of(column.array.dtype()));
  return StoredField{rows, column.scaled, column.scale, column.shift};
}

Tensor Dataset::array(const std::string& field) const {
  const auto index = index_of(field);
  const auto& info = fields()[index].info;
  Tensor all(info.shape.with_rows(rows_), info.dtype);
  std::vector<std::int32_t> samples(static_cast<std::size_t>(rows_));
  std::iota(samples.begin(), samples.end(), 0);
  gather(samples, index, all);
  return all;
}

void Dataset::gather(std::span<const std::int32_t> samples, std::size_t field, const Tensor& to) const {
  const auto& column = columns_.at(field);
  const auto& info = fields()[field].info;
  const auto width = info.shape.row_elements();
  if (to.dtype() != info.dtype || to.elements() != static_cast<std::int64_t>(samples.size()) * width)
    throw Error("dataset", std::to_string(samples.size()) + " rows of " + to_string(fields()[field]) +
                               " do not fit into " + to_string(to));
  const auto to_row_bytes = static_cast<std::size_t>(width) * size_of(info.dtype);
  auto* target = to.mutable_raw();
  const auto element_bytes = column.write ? 0 : size_of(column.array.dtype());
  const auto* first =
      column.write ? nullptr : column.array.raw() + static_cast<std::size_t>(column.first) * element_bytes;
  for (const auto sample : samples) {
    if (sample < 0 || sample >= rows_) throw Error("dataset", "there is no row " + std::to_string(sample));
    const auto at = sample + skipped_;
    if (column.write) {
      (*column.write)(at, target, to_row_bytes);
      target += to_row_bytes;
      continue;
    }
    const auto row_bytes = static_cast<std::size_t>(width) * element_bytes;
    const auto* row = first + static_cast<std::size_t>(at) * row_bytes;
    if (row_bytes == 0) continue;
    if (!column.scaled)
      std::memcpy(target, row, row_bytes);
    else if (column.array.dtype() == DType::uint8)
      normalize(width, reinterpret_cast<const std::uint8_t*>(row), column.scale, column.shift,
                reinterpret_cast<float*>(target));
    else
      normalize(width, reinterpret_cast<const float*>(row), column.scale, column.shift,
                reinterpret_cast<float*>(target));
    target += to_row_bytes;
  }
}

}  // namespace troupe
