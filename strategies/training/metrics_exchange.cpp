#include "troupe/strategies/training/metrics_exchange.hpp"

#include <algorithm>
#include <bit>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/bytes.hpp"

namespace troupe {

namespace {

constexpr std::size_t kNameLimit = 1'024;
constexpr std::chrono::milliseconds kNoWait{0};

void put(ByteWriter& writer, double number) {
  writer.put(std::bit_cast<std::uint64_t>(number));
}

double get(ByteReader& reader) {
  return std::bit_cast<double>(reader.get<std::uint64_t>());
}

void write(ByteWriter& writer, const MetricValues::Entry& entry) {
  writer.put_text(entry.name, kNameLimit);
  put(writer, entry.sum);
  put(writer, entry.count);
  const auto& table = entry.table;
  writer.put(static_cast<std::uint8_t>(table.numbers.empty() ? 0 : table.shape.rank()));
  for (std::size_t axis = 0; !table.numbers.empty() && axis < table.shape.rank(); ++axis) writer.put(table.shape[axis]);
  for (const auto number : table.numbers) put(writer, number);
}

MetricValues::Entry read_entry(ByteReader& reader) {
  MetricValues::Entry entry;
  entry.name = reader.get_text(kNameLimit);
  entry.sum = get(reader);
  entry.count = get(reader);
  std::vector<std::int64_t> sizes(reader.get<std::uint8_t>());
  if (sizes.empty()) return entry;
  for (auto& size : sizes) size = reader.get<std::int64_t>();
  entry.table.shape = Shape(std::span<const std::int64_t>(sizes));
  for (std::int64_t i = 0; i < entry.table.shape.elements(); ++i) entry.table.numbers.push_back(get(reader));
  return entry;
}

void write(ByteWriter& writer, const ReplicaReport& report) {
  writer.put(static_cast<std::int32_t>(report.replica));
  writer.put(report.metrics.step);
  put(writer, report.metrics.loss);
  writer.put(report.metrics.rows);
  writer.put(static_cast<std::uint32_t>(report.metrics.values.entries().size()));
  for (const auto& entry : report.metrics.values.entries()) write(writer, entry);
}

ReplicaReport read_report(ByteReader& reader) {
  ReplicaReport report;
  report.replica = reader.get<std::int32_t>();
  report.metrics.step = reader.get<std::int64_t>();
  report.metrics.loss = get(reader);
  report.metrics.rows = reader.get<std::int64_t>();
  const auto entries = reader.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < entries; ++i) report.metrics.values.mutable_entries().push_back(read_entry(reader));
  return report;
}

}  // namespace

MetricsExchange::MetricsExchange(Cluster& cluster, std::uint64_t generation) : rank_(cluster.rank()) {
  const auto name = "plan " + std::to_string(generation) + "/metrics";
  const auto add = [&](int peer) { peers_[peer] = std::make_unique<LinkReader>(cluster.control_link(peer, name)); };
  if (rank_ != 0) add(0);
  for (int peer = 1; rank_ == 0 && peer < cluster.size(); ++peer) add(peer);
}

void MetricsExchange::send(std::span<const ReplicaReport> reports) {
  if (reports.empty()) return;
  ByteWriter writer;
  for (const auto& report : reports) write(writer, report);
  Tensor bytes(Shape{static_cast<std::int64_t>(writer.size())}, DType::uint8);
  std::ranges::copy(writer.view(), bytes.mutable_raw());
  for (auto& [peer, reader] : peers_) reader->link().send({{.type = FrameType::control}, bytes});
}

void MetricsExchange::expect_all() const {
  for (const auto& [peer, reader] : peers_)
    if (const auto cause = reader->link().failure())
      throw Error("metrics", "process " + std::to_string(peer) + " has gone before its last report: " + cause->what);
}

std::vector<ReplicaReport> MetricsExchange::receive(std::chrono::milliseconds limit) {
  std::vector<ReplicaReport> reports;
  for (auto& [peer, reader] : peers_)
    while (const auto frame = reader->receive(reports.empty() && peer == peers_.begin()->first ? limit : kNoWait)) {
      const auto bytes = frame->payload->tensor();
      ByteReader fields({bytes.raw(), bytes.bytes()}, "metrics");
      while (!fields.at_end()) reports.push_back(read_report(fields));
    }
  if (reports.empty() && limit > kNoWait) expect_all();
  return reports;
}

}  // namespace troupe
