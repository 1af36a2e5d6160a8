#include "troupe/strategies/step/partitioner.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

void expect_positive(std::int64_t number, const char* name) {
  if (number < 1) throw Error("partitioner", std::string(name) + " must be at least 1, not " + std::to_string(number));
}

std::int64_t bytes_of_row(const TensorInfo& parameter) {
  const auto elements = parameter.shape.rank() == 0 ? 1 : parameter.shape.row_elements();
  return elements * static_cast<std::int64_t>(size_of(parameter.dtype));
}

/// The quotient of `whole` and `part`, rounded up.
std::int64_t number_of_parts(std::int64_t whole, std::int64_t part) {
  return whole / part + (whole % part != 0 ? 1 : 0);
}

/// Parses `digits`, the part of `text` behind the colon. Throws Error unless it is a whole number.
std::int64_t number_in(std::string_view text, std::string_view digits) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size())
    throw Error("partitioner", "'" + std::string(text) + "' needs a whole number behind the colon");
  return number;
}

void expect_enough_rows(std::int64_t least, std::span<const TrainedParameter> parameters) {
  const auto largest = std::ranges::max_element(parameters, {}, [](const auto& p) { return rows_of(p.info); });
  if (largest != parameters.end() && rows_of(largest->info) < least)
    throw Error("partitioner", std::to_string(least) + " shards are more than any parameter has rows: '" +
                                   largest->name + "' has " + std::to_string(rows_of(largest->info)));
}

std::vector<PlacedParameter> place_all(const Sharding& sharding, std::size_t servers,
                                       std::span<const TrainedParameter> parameters) {
  expect_enough_rows(sharding.partitioner.least_rows, parameters);
  std::vector<PlacedParameter> placed;
  std::vector<std::int64_t> elements_on(servers);
  const auto next_server = [&](std::int64_t elements) {
    const auto least = static_cast<std::size_t>(std::ranges::min_element(elements_on) - elements_on.begin());
    const auto server = sharding.placement == Placement::round_robin ? placed.size() % servers : least;
    elements_on[server] += elements;
    return server;
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, info, initializer, part_of, row_sparse] = parameters[i];
    const auto shards = sharding.partitioner.shards_of(info);
    if (shards == 1) {
      placed.push_back({i, {}, next_server(info.shape.elements())});
      continue;
    }
    if (shards < 1 || shards > rows_of(info))
      throw Error("partitioner", "'" + name + "', " + to_string(info) + ", cannot be split into " +
                                     std::to_string(shards) + " shards");
    for (const auto& rows : split_rows(info.shape[0], shards))
      placed.push_back({i, rows, next_server(rows.count * info.shape.row_elements())});
  }
  return placed;
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

Partitioner min_shard_size(std::int64_t bytes, std::int64_t max_shards) {
  expect_positive(bytes, "the size of a shard");
  expect_positive(max_shards, "the number of shards");
  return {[bytes, max_shards](const TensorInfo& parameter) {
    const auto rows = rows_of(parameter);
    const auto shards = number_of_parts(rows * bytes_of_row(parameter), bytes);
    return std::max<std::int64_t>(1, std::min({rows, max_shards, shards}));
  }};
}

Partitioner max_shard_size(std::int64_t bytes, std::optional<std::int64_t> max_shards) {
  expect_positive(bytes, "the size of a shard");
  if (max_shards) expect_positive(*max_shards, "the number of shards");
  return {[bytes, max_shards](const TensorInfo& parameter) {
    const auto rows_of_shard = std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(1, bytes_of_row(parameter)));
    const auto shards = std::max<std::int64_t>(1, number_of_parts(rows_of(parameter), rows_of_shard));
    return max_shards ? std::min(shards, *max_shards) : shards;
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

PlaceParameters on_servers(const Sharding& sharding, std::size_t servers) {
  return [sharding, servers](std::span<const TrainedParameter> parameters) {
    return place_all(sharding, servers, parameters);
  };
}

}  // namespace troupe
