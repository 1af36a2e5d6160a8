#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "troupe/transport/link_reader.hpp"

namespace troupe {

/// Checks that all ranks of a job are about to do the same. Each rank describes its next action by a topic and a text,
/// and sends the topic and the hash of the text to rank 0. If a topic differs, rank 0 sends both topics to all ranks.
/// Else, if a hash differs, rank 0 requests the text of the first such rank, finds the first line that differs from its
/// own text and sends this line to all ranks. Ranks that are gone, because the job goes on without them, are left out.
/// Used by one thread at a time.
class AgreementRound {
 public:
  /// `links` lead from rank 0 to every other rank, and from another rank to rank 0 only. `limit` is the longest wait
  /// for a frame. `lost()` returns the failure of a rank whose loss ends the job, or null. `gone(rank)` returns whether
  /// the job goes on without the rank, so that rank 0 leaves it out if it has sent nothing.
  AgreementRound(int rank, const std::map<int, std::shared_ptr<Link>>& links, std::chrono::milliseconds limit,
                 std::function<FailurePtr()> lost, std::function<bool(int rank)> gone);

  /// Blocks until all ranks that are not gone have called agree() with the same topic and hash. Throws Error that names
  /// the first difference in topic or text, or a rank that is lost, and TimedOut that names a rank that does not come
  /// within the limit. `text` returns the text that has the hash, and is called only if the hash of this rank or, at
  /// rank 0, of another rank differs.
  void agree(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text);

 private:
  /// Receives the next frame from rank `from`. Returns nothing if the rank is gone. Throws TimedOut if no frame
  /// arrives within the limit, and Error if any rank is lost.
  std::optional<IncomingFrame> receive(int from, const std::string& topic);
  /// At rank 0: receives and compares the topics and hashes of all ranks, and sends the outcome to all ranks. Throws
  /// Error if they differ.
  void compare(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text);
  /// At another rank: sends topic and hash to rank 0, and the text if rank 0 requests it, and receives the outcome.
  /// Throws Error if the outcome is a difference.
  void follow(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text);

  const int rank_;
  const std::chrono::milliseconds limit_;
  const std::function<FailurePtr()> lost_;
  const std::function<bool(int rank)> gone_;
  std::map<int, std::unique_ptr<LinkReader>> peers_;
};

/// Returns the first line in which two texts differ, as part of an error text such as `'a' on rank 1 but 'b' on rank
/// 0`; empty if the texts are equal.
std::string first_difference(const std::string& mine, int my_rank, const std::string& theirs, int their_rank);

}  // namespace troupe
