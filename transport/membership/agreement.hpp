#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "troupe/transport/link_reader.hpp"

namespace troupe {

/// The ranks of a job compare what they are about to do: each sends its hash to rank 0; where one differs, rank 0 asks
/// for its text, finds the first line that differs and tells all. A rank that is gone is not waited for. One thread at
/// a time.
class AgreementRound {
 public:
  /// `links` as for Membership. `lost` says who is lost, if somebody is, and with him the job; `gone` whether the
  /// others go on without that rank.
  AgreementRound(int rank, const std::map<int, std::shared_ptr<Link>>& links, std::chrono::milliseconds limit,
                 std::function<FailurePtr()> lost, std::function<bool(int rank)> gone);

  /// See Cluster::agree().
  void agree(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text);

 private:
  /// The next frame of a rank; nothing if it is gone. Throws Error if it does not come.
  std::optional<IncomingFrame> receive(int from, const std::string& topic);
  void compare(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text);
  void follow(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text);
  [[noreturn]] void refuse(const std::string& reason);

  const int rank_;
  const std::chrono::milliseconds limit_;
  const std::function<FailurePtr()> lost_;
  const std::function<bool(int rank)> gone_;
  std::map<int, std::unique_ptr<LinkReader>> peers_;
};

/// The first line in which two texts differ, for people. Empty if they are alike.
std::string first_difference(const std::string& mine, int my_rank, const std::string& theirs, int their_rank);

}  // namespace troupe
