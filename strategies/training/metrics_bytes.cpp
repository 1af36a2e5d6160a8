#include "troupe/strategies/training/metrics_bytes.hpp"

#include <bit>

namespace troupe {

namespace {

constexpr std::size_t kMetricNameLimit = 1'024;

void put(ByteWriter& writer, double number) {
  writer.put(std::bit_cast<std::uint64_t>(number));
}

double get(ByteReader& reader) {
  return std::bit_cast<double>(reader.get<std::uint64_t>());
}

void write(ByteWriter& writer, const MetricValues::Entry& entry) {
  writer.put_text(entry.name, kMetricNameLimit);
  put(writer, entry.sum);
  put(writer, entry.count);
  const auto& table = entry.table;
  writer.put(static_cast<std::uint8_t>(table.numbers.empty() ? 0 : table.shape.rank()));
  for (std::size_t axis = 0; !table.numbers.empty() && axis < table.shape.rank(); ++axis) writer.put(table.shape[axis]);
  for (const auto number : table.numbers) put(writer, number);
}

MetricValues::Entry read_entry(ByteReader& reader) {
  MetricValues::Entry entry;
  entry.name = reader.get_text(kMetricNameLimit);
  entry.sum = get(reader);
  entry.count = get(reader);
  std::vector<std::int64_t> sizes(reader.get<std::uint8_t>());
  if (sizes.empty()) return entry;
  for (auto& size : sizes) size = reader.get<std::int64_t>();
  entry.table.shape = Shape(std::span<const std::int64_t>(sizes));
  for (std::int64_t i = 0; i < entry.table.shape.elements(); ++i) entry.table.numbers.push_back(get(reader));
  return entry;
}

}  // namespace

void write(ByteWriter& writer, const MetricValues& values) {
  writer.put(static_cast<std::uint32_t>(values.entries().size()));
  for (const auto& entry : values.entries()) write(writer, entry);
}

MetricValues read_values(ByteReader& reader) {
  MetricValues values;
  const auto entries = reader.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < entries; ++i) values.mutable_entries().push_back(read_entry(reader));
  return values;
}

}  // namespace troupe
