#include "troupe/strategies/partitioner.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

void expect_positive(std::int64_t number, const char* what) {
  if (number < 1) throw Error("partitioner", std::string(what) + " must be at least 1, not " + std::to_string(number));
}

std::int64_t bytes_of_row(const TensorInfo& parameter) {
  const auto elements = parameter.shape.rank() == 0 ? 1 : parameter.shape.row_elements();
  return elements * static_cast<std::int64_t>(size_of(parameter.dtype));
}

std::int64_t parts_of(std::int64_t whole, std::int64_t part) {
  return whole / part + (whole % part != 0 ? 1 : 0);
}

/// Throws Error unless all of it is a number.
std::int64_t number_in(std::string_view text, std::string_view digits) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size())
    throw Error("partitioner", "'" + std::string(text) + "' needs a whole number behind the colon");
  return number;
}

}  // namespace

std::int64_t rows_of(const TensorInfo& parameter) {
  return parameter.shape.rank() == 0 ? 1 : parameter.shape[0];
}

Partitioner unpartitioned() {
  return {[](const TensorInfo&) { return std::int64_t{1}; }};
}

Partitioner fixed_shards(std::int64_t shards) {
  expect_positive(shards, "the number of shards");
  return {[shards](const TensorInfo& parameter) { return std::clamp<std::int64_t>(rows_of(parameter), 1, shards); },
          shards};
}

Partitioner min_shard_size(std::int64_t bytes, std::int64_t most) {
  expect_positive(bytes, "the size of a shard");
  expect_positive(most, "the number of shards");
  return {[bytes, most](const TensorInfo& parameter) {
    const auto rows = rows_of(parameter);
    return std::max<std::int64_t>(1, std::min({rows, most, parts_of(rows * bytes_of_row(parameter), bytes)}));
  }};
}

Partitioner max_shard_size(std::int64_t bytes, std::optional<std::int64_t> most) {
  expect_positive(bytes, "the size of a shard");
  if (most) expect_positive(*most, "the number of shards");
  return {[bytes, most](const TensorInfo& parameter) {
    const auto rows_of_shard = std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(1, bytes_of_row(parameter)));
    const auto shards = std::max<std::int64_t>(1, parts_of(rows_of(parameter), rows_of_shard));
    return most ? std::min(shards, *most) : shards;
  }};
}

Partitioner partitioner_of(std::string_view text, std::int64_t servers) {
  if (text == "none") return unpartitioned();
  const auto colon = std::min(text.find(':'), text.size());
  const auto kind = text.substr(0, colon), rest = text.substr(std::min(colon + 1, text.size()));
  if (kind == "fixed") return fixed_shards(number_in(text, rest));
  if (kind == "min_size") return min_shard_size(number_in(text, rest), servers);
  if (kind == "max_size") return max_shard_size(number_in(text, rest));
  throw Error("partitioner",
              "'" + std::string(text) + "' is not one of none, fixed:SHARDS, min_size:BYTES and max_size:BYTES");
}

std::vector<RowRange> split_rows(std::int64_t rows, std::int64_t shards) {
  if (shards < 1 || shards > rows)
    throw Error("partitioner",
                std::to_string(rows) + " rows cannot be split into " + std::to_string(shards) + " shards");
  std::vector<RowRange> ranges;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < shards; ++i) {
    const auto count = rows / shards + (i < rows % shards ? 1 : 0);
    ranges.push_back({first, count});
    first += count;
  }
  return ranges;
}

Placement placement_of(std::string_view text) {
  if (text == "fewest_elements") return Placement::fewest_elements;
  if (text == "round_robin") return Placement::round_robin;
  throw Error("partitioner", "'" + std::string(text) + "' is not one of fewest_elements and round_robin");
}

}  // namespace troupe
