#include "troupe/strategies/training/metrics_exchange.hpp"

#include <algorithm>
#include <bit>
#include <thread>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

constexpr std::chrono::milliseconds kNoWait{0};
// The cluster reports a lost process within this time after a link has failed.
constexpr std::chrono::seconds kLossLimit{1};
constexpr std::chrono::milliseconds kPause{10};

/// The content of a frame of this exchange: reports, or the end of the run with the staleness. The field
/// FrameHeader::slot has this value.
enum Content : std::int32_t { kReports, kEnd };

void write_report(ByteWriter& writer, const ReplicaReport& report) {
  writer.put(static_cast<std::int32_t>(report.replica));
  writer.put(report.metrics.step);
  writer.put(std::bit_cast<std::uint64_t>(report.metrics.loss));
  writer.put(report.metrics.rows);
  writer.put(report.metrics.batch_rows);
  writer.put(std::bit_cast<std::uint32_t>(report.metrics.magnitude));
  writer.put(static_cast<std::int32_t>(report.metrics.missing_worker));
  write(writer, report.metrics.values);
  write(writer, report.metrics.loss_means);
}

ReplicaReport read_report(ByteReader& reader) {
  ReplicaReport report;
  report.replica = reader.get<std::int32_t>();
  report.metrics.step = reader.get<std::int64_t>();
  report.metrics.loss = std::bit_cast<double>(reader.get<std::uint64_t>());
  report.metrics.rows = reader.get<std::int64_t>();
  report.metrics.batch_rows = reader.get<std::int64_t>();
  report.metrics.magnitude = std::bit_cast<float>(reader.get<std::uint32_t>());
  report.metrics.missing_worker = reader.get<std::int32_t>();
  report.metrics.values = read_values(reader);
  report.metrics.loss_means = read_values(reader);
  return report;
}

void write_staleness(ByteWriter& writer, const Staleness& staleness) {
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

MetricsExchange::MetricsExchange(Cluster& cluster, std::uint64_t generation)
    : cluster_(cluster), link_name_("plan " + std::to_string(generation) + "/metrics") {
  if (cluster.rank() != 0) add_peer(0);
  for (int peer = 1; cluster.rank() == 0 && peer < cluster.size(); ++peer) add_peer(peer);
}

void MetricsExchange::add_peer(int number) {
  const auto returns = cluster_.returns(number);
  auto reader = std::make_unique<LinkReader>(cluster_.control_link(number, link_name_));
  peers_[number] = {std::move(reader), cluster_.expendable().contains(number), returns};
}

void MetricsExchange::begin() {
  for (auto& [number, peer] : peers_) {
    // A process that has returned has made its end of the link again, so this end must be made again, too.
    if (const auto returns = cluster_.returns(number); peer.expendable && returns != peer.returns) {
      try {
        add_peer(number);
      } catch (const Error&) {
        // The process returned while this end was made, so the link leads to the new process already.
        peer.returns = returns;
      }
    }
    peer.ended = false;
  }
}

void MetricsExchange::send_to_all(const ByteWriter& bytes, std::int32_t content) {
  const auto payload = payload_of(bytes.view());
  for (auto& [number, peer] : peers_)
    if (!peer.expendable) peer.reader->link().send({{.type = FrameType::control, .slot = content}, payload});
}

void MetricsExchange::send(std::span<const ReplicaReport> reports) {
  if (reports.empty()) return;
  ByteWriter writer;
  for (const auto& report : reports) write_report(writer, report);
  send_to_all(writer, kReports);
}

void MetricsExchange::send_end(const Staleness& staleness) {
  ByteWriter writer;
  write_staleness(writer, staleness);
  send_to_all(writer, kEnd);
}

/// Throws Error if the cluster reports a lost process, or if the link to a process that is not expendable and has not
/// ended the run failed more than kLossLimit ago. If such a link failed later, returns after kPause: the process at the
/// other end may have ended because a third process was lost, and the cluster then reports this root cause.
void MetricsExchange::expect_no_loss() {
  if (const auto lost = cluster_.lost()) throw Error("metrics", to_string(*lost));
  const auto now = std::chrono::steady_clock::now();
  for (const auto& [number, peer] : peers_) {
    const auto cause = peer.expendable || peer.ended ? nullptr : peer.reader->link().failure();
    if (cause && now - link_failed_.value_or(now) > kLossLimit)
      throw Error("metrics", "process " + std::to_string(number) + " was lost before its last report: " + cause->what);
    if (cause && !link_failed_) link_failed_ = now;
  }
  // On a failed link LinkReader::receive() returns at once. The pause limits how often the caller repeats the call.
  if (link_failed_) std::this_thread::sleep_for(kPause);
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
  const auto* const first = &peers_.begin()->second;
  for (auto& entry : peers_) {
    auto& peer = entry.second;
    const auto wait = [&] { return reports.empty() && !peer.ended && &peer == first ? limit : kNoWait; };
    while (const auto frame = peer.reader->receive(wait())) take(peer, *frame, reports);
  }
  if (reports.empty() && limit > kNoWait) expect_no_loss();
  return reports;
}

bool MetricsExchange::has_ended(int number, const Peer& peer, std::span<const int> absent) {
  return peer.ended || (peer.expendable && peer.reader->link().failure()) ||
         std::ranges::find(absent, number) != absent.end();
}

bool MetricsExchange::all_ended(std::span<const int> absent) const {
  return std::ranges::all_of(peers_, [&](const auto& entry) { return has_ended(entry.first, entry.second, absent); });
}

std::string MetricsExchange::missing(std::span<const int> absent) const {
  std::string names;
  for (const auto& [number, peer] : peers_)
    if (!has_ended(number, peer, absent))
      names += (names.empty() ? " by process " : ", process ") + std::to_string(number);
  return "the last steps have not been reported" + names;
}

Staleness MetricsExchange::staleness() const {
  Staleness sum;
  for (const auto& [number, peer] : peers_) sum.add(peer.staleness);
  return sum;
}

}  // namespace troupe
