#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "troupe/transport/membership/rendezvous.hpp"

namespace troupe {

/// The addresses and roles of the processes of a job, by rank. Thread-safe.
class MemberList {
 public:
  /// Replaces the whole list.
  void set(std::vector<Member> members);
  /// Replaces the member with rank `rank` by the process that has returned with this rank.
  void replace(int rank, const Member& member);
  std::vector<Member> all() const;
  Member at(int rank) const;

  /// Returns the number of ranks below `rank` on the same machine.
  int local_rank(int rank) const;
  /// Returns a number that is another one after another process has come with the rank; 0 if there is no such rank.
  std::uint64_t incarnation(int rank) const;
  /// Returns a text such as `process 1 (127.0.0.1, pid 7)`.
  std::string describe(int rank) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Member> members_;
};

}  // namespace troupe
