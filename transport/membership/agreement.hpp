#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "troupe/transport/link_reader.hpp"

namespace troupe {

/// Compares what the ranks of a job are about to do. Each rank sends a hash to rank 0. If a hash differs, rank 0
/// requests that rank's text, finds the first line that differs and sends it to all ranks. A rank that is gone is not
/// waited for. Used by one thread at a time.
class AgreementRound {
 public:
  /// `links` lead from rank 0 to every other rank, and from the others to rank 0. `lost` returns the failure of the
  /// rank that is lost, or null. `gone` returns whether the others go on without a rank.
  AgreementRound(int rank, const std::map<int, std::shared_ptr<Link>>& links, std::chrono::milliseconds limit,
                 std::function<FailurePtr()> lost, std::function<bool(int rank)> gone);

  /// Returns when all ranks have called it with the same topic and hash; see Cluster::agree().
  void agree(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text);

 private:
  /// Receives the next frame of a rank. Returns nothing if the rank is gone. Throws Error if no frame arrives within
  /// the limit, or a rank is lost.
  std::optional<IncomingFrame> receive(int from, const std::string& topic);
  /// At rank 0: compares the topics and hashes of all ranks.
  void compare(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text);
  /// At the other ranks: sends the hash, and the text if rank 0 requests it.
  void follow(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text);

  const int rank_;
  const std::chrono::milliseconds limit_;
  const std::function<FailurePtr()> lost_;
  const std::function<bool(int rank)> gone_;
  std::map<int, std::unique_ptr<LinkReader>> peers_;
};

/// The first line in which two texts differ, as part of an error text. Empty if the texts are equal.
std::string first_difference(const std::string& mine, int my_rank, const std::string& theirs, int their_rank);

}  // namespace troupe
