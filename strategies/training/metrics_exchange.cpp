#include "troupe/strategies/training/metrics_exchange.hpp"

#include <algorithm>
#include <bit>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

constexpr std::size_t kNameLimit = 1'024;
constexpr std::chrono::milliseconds kNoWait{0};

/// What a frame holds, in FrameHeader::slot.
enum Holds : std::int32_t { kReports, kEnd };

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

void write(ByteWriter& writer, const Staleness& staleness) {
  writer.put(staleness.dropped);
  for (const auto& [versions, gradients] : staleness.applied) {
    writer.put(versions);
    writer.put(gradients);
  }
}

Staleness read_staleness(ByteReader& reader) {
  Staleness staleness;
  staleness.dropped = reader.get<std::int64_t>();
  while (!reader.at_end()) {
    const auto versions = reader.get<std::int64_t>();
    staleness.applied[versions] = reader.get<std::int64_t>();
  }
  return staleness;
}

}  // namespace

MetricsExchange::MetricsExchange(Cluster& cluster, std::uint64_t generation) : rank_(cluster.rank()) {
  const auto name = "plan " + std::to_string(generation) + "/metrics";
  const auto expendable = cluster.expendable();
  const auto add = [&](int peer) {
    peers_[peer] = {std::make_unique<LinkReader>(cluster.control_link(peer, name)), expendable.contains(peer)};
  };
  if (rank_ != 0) add(0);
  for (int peer = 1; rank_ == 0 && peer < cluster.size(); ++peer) add(peer);
}

void MetricsExchange::begin() {
  for (auto& [number, peer] : peers_) peer.ended = false;
}

void MetricsExchange::send_to_all(const ByteWriter& bytes, std::int32_t what) {
  Tensor payload(Shape{static_cast<std::int64_t>(bytes.size())}, DType::uint8);
  std::ranges::copy(bytes.view(), payload.mutable_raw());
  for (auto& [number, peer] : peers_) peer.reader->link().send({{.type = FrameType::control, .slot = what}, payload});
}

void MetricsExchange::send(std::span<const ReplicaReport> reports) {
  if (reports.empty()) return;
  ByteWriter writer;
  for (const auto& report : reports) write(writer, report);
  send_to_all(writer, kReports);
}

void MetricsExchange::send_end(const Staleness& staleness) {
  ByteWriter writer;
  write(writer, staleness);
  send_to_all(writer, kEnd);
}

void MetricsExchange::expect_all() const {
  for (const auto& [number, peer] : peers_)
    if (const auto cause = peer.expendable || peer.ended ? nullptr : peer.reader->link().failure())
      throw Error("metrics", "process " + std::to_string(number) + " has gone before its last report: " + cause->what);
}

void MetricsExchange::take(Peer& peer, const IncomingFrame& frame, std::vector<ReplicaReport>& reports) const {
  const auto bytes = frame.payload->tensor();
  ByteReader fields({bytes.raw(), bytes.bytes()}, "metrics");
  if (frame.header.slot == kEnd) {
    peer.staleness = read_staleness(fields);
    peer.ended = true;
    return;
  }
  while (!fields.at_end()) reports.push_back(read_report(fields));
}

std::vector<ReplicaReport> MetricsExchange::receive(std::chrono::milliseconds limit) {
  std::vector<ReplicaReport> reports;
  for (auto& [number, peer] : peers_) {
    const auto waits = [&] { return reports.empty() && !peer.ended && number == peers_.begin()->first; };
    while (const auto frame = peer.reader->receive(waits() ? limit : kNoWait)) take(peer, *frame, reports);
  }
  if (reports.empty() && limit > kNoWait) expect_all();
  return reports;
}

bool MetricsExchange::all_ended() const {
  return std::ranges::all_of(peers_, [](const auto& entry) {
    const auto& peer = entry.second;
    return peer.ended || (peer.expendable && peer.reader->link().failure());
  });
}

Staleness MetricsExchange::staleness() const {
  Staleness sum;
  for (const auto& [number, peer] : peers_) sum.add(peer.staleness);
  return sum;
}

}  // namespace troupe
