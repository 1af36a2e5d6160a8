#include <array>
#include <sstream>

#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

std::string Dataset::content() const {
  std::ostringstream text;
  text << rows_ << " rows, batches of " << batch_ << ", shuffle buffer " << shuffle_buffer_ << ", streams " << streams_
       << "\n";
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const auto& column = columns_[i];
    Hash hash;
    if (column.write) {
      const std::array sampled_rows{std::int64_t{0}, rows_ / 3, rows_ / 2, rows_ - 1};
      const auto& info = fields()[i].info;
      const Tensor row(info.shape.with_rows(1), info.dtype);
      for (const auto sample : sampled_rows) {
        if (sample < 0 || sample >= rows_) continue;
        const auto number = static_cast<std::int32_t>(sample);
        gather({&number, 1}, i, row);
        hash.add_bytes(row.raw(), row.bytes());
      }
    } else {
      const auto row_bytes =
          static_cast<std::size_t>(fields()[i].info.shape.row_elements()) * size_of(column.array.dtype());
      const auto first = static_cast<std::size_t>(column.first) * size_of(column.array.dtype()) +
                         static_cast<std::size_t>(skipped_) * row_bytes;
      hash.add_bytes(column.array.raw() + first, static_cast<std::size_t>(rows_) * row_bytes);
    }
    text << "field " << to_string(fields()[i]) << " * " << column.scale << " + " << column.shift << ": " << hash.hex()
         << "\n";
  }
  return text.str();
}

}  // namespace troupe
