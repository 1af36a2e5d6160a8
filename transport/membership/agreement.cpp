#include "troupe/transport/membership/agreement.hpp"

#include <sstream>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/timed_out.hpp"

namespace troupe {

namespace {

/// The types of the frames between rank 0 and another rank, in FrameHeader::edge. FrameHeader::generation holds the
/// hash; topics and texts are payloads.
enum AgreementMessage : std::int32_t { kHash, kSendText, kText, kAgreed, kRefused };

// The interval at which AgreementRound::receive() checks whether a rank is lost or gone.
constexpr std::chrono::milliseconds kCheckInterval{100};
// The pause between two checks once the link has failed.
constexpr std::chrono::milliseconds kFailedPause{10};

std::string text_of(const IncomingFrame& frame) {
  const auto payload = frame.payload->tensor();
  return {reinterpret_cast<const char*>(payload.raw()), payload.bytes()};
}

Frame frame_of(AgreementMessage type, const std::string& text = {}, std::uint64_t hash = 0) {
  return {{.type = FrameType::control, .edge = type, .generation = hash}, payload_of(std::as_bytes(std::span(text)))};
}

}  // namespace

std::string first_difference(const std::string& mine, int my_rank, const std::string& theirs, int their_rank) {
  std::istringstream my_lines(mine), their_lines(theirs);
  std::string my_line, their_line;
  while (true) {
    const bool i_have_line = static_cast<bool>(std::getline(my_lines, my_line));
    const bool they_have_line = static_cast<bool>(std::getline(their_lines, their_line));
    if (!i_have_line && !they_have_line) return {};
    if (i_have_line && they_have_line && my_line == their_line) continue;
    const auto line = [](bool exists, const std::string& text) { return exists ? "'" + text + "'" : "nothing more"; };
    return line(they_have_line, their_line) + " on rank " + std::to_string(their_rank) + " but " +
           line(i_have_line, my_line) + " on rank " + std::to_string(my_rank);
  }
}

AgreementRound::AgreementRound(int rank, const std::map<int, std::shared_ptr<Link>>& links,
                               std::chrono::milliseconds limit, std::function<FailurePtr()> lost,
                               std::function<bool(int rank)> gone)
    : rank_(rank), limit_(limit), lost_(std::move(lost)), gone_(std::move(gone)) {
  for (const auto& [peer, link] : links) peers_[peer] = std::make_unique<LinkReader>(link);
}

std::optional<IncomingFrame> AgreementRound::receive(int from, const std::string& topic) {
  const auto deadline = std::chrono::steady_clock::now() + limit_;
  while (std::chrono::steady_clock::now() < deadline) {
    if (auto frame = peers_.at(from)->receive(kCheckInterval)) return frame;
    if (gone_(from)) return std::nullopt;
    if (const auto lost = lost_()) throw Error("cluster", to_string(*lost));
    // The link fails a moment before the process counts as lost. LinkReader::receive() does not wait then.
    if (peers_.at(from)->link().failure()) std::this_thread::sleep_for(kFailedPause);
  }
  throw TimedOut("cluster", "rank " + std::to_string(from) + " has not come to '" + topic + "' within " +
                                std::to_string(limit_.count() / 1000) + " s");
}

void AgreementRound::agree(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text) {
  if (rank_ == 0)
    compare(topic, hash, text);
  else
    follow(topic, hash, text);
}

void AgreementRound::compare(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text) {
  int differing = 0;
  std::string reason;
  for (auto& [rank, peer] : peers_) {
    const auto frame = receive(rank, topic);
    if (!frame) continue;
    const auto theirs = text_of(*frame);
    if (theirs != topic && reason.empty())
      reason = "rank " + std::to_string(rank) + " is at '" + theirs + "', rank 0 at '" + topic + "'";
    if (frame->header.generation != hash && differing == 0) differing = rank;
  }
  if (reason.empty() && differing > 0) {
    peers_.at(differing)->link().send(frame_of(kSendText));
    const auto answer = receive(differing, topic);
    const auto line = answer ? first_difference(text(), 0, text_of(*answer), differing) : "";
    reason = "in '" + topic + "' the ranks differ: " +
             (line.empty() ? "rank " + std::to_string(differing) + " from rank 0, but no text shows where" : line);
  }
  const auto outcome = reason.empty() ? frame_of(kAgreed) : frame_of(kRefused, reason);
  for (auto& [rank, peer] : peers_) peer->link().send(outcome);
  if (!reason.empty()) throw Error("cluster", reason);
}

void AgreementRound::follow(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text) {
  auto& link = peers_.at(0)->link();
  link.send(frame_of(kHash, topic, hash));
  while (true) {
    // The job never goes on without rank 0, so receive() returns a frame or throws.
    const auto frame = receive(0, topic).value();
    if (frame.header.edge == kAgreed) return;
    if (frame.header.edge == kRefused) throw Error("cluster", text_of(frame));
    link.send(frame_of(kText, text()));
  }
}

}  // namespace troupe
