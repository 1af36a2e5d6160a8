#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "troupe/transport/acceptor.hpp"
#include "troupe/transport/membership/membership.hpp"
#include "troupe/transport/membership/rendezvous_messages.hpp"

namespace troupe {

/// The job that newcomers join.
struct ReadmissionOptions {
  /// The rendezvous of the job. Its limit is the time a newcomer waits until its rank is known to be gone and until all
  /// others have its address; on_notice gets one line about each newcomer that is admitted or refused, too.
  RendezvousOptions rendezvous;
  /// The current members, by rank.
  std::function<std::vector<Member>()> members;
  /// Replaces the member of a rank, at rank 0 and at all other ranks, which confirm it to the membership.
  std::function<void(int rank, const Member& member)> announce;
  /// Marks the rank as returned. The newcomer is told to go on afterwards.
  std::function<void(int rank)> admit;
};

/// Admits, at rank 0 while the job runs, processes that join with the rank of an expendable process that is gone. Works
/// on a thread of its own, which calls the functions of the options.
class Readmission {
 public:
  /// Keeps a reference to `membership`. Throws Error if the address cannot be bound.
  Readmission(ReadmissionOptions options, const Membership& membership);
  ~Readmission();
  Readmission(const Readmission&) = delete;
  Readmission& operator=(const Readmission&) = delete;

 private:
  /// A process that asks to be admitted. An empty sender marks one to be forgotten.
  struct Newcomer {
    std::string sender;
    Member member;
    std::chrono::steady_clock::time_point deadline;
    enum {
      waiting,    ///< until its rank is known to be gone
      welcomed,   ///< it has got the members
      connected,  ///< it has confirmed that it has the members' addresses
      announced   ///< the others have been told its address
    } state = waiting;
  };

  void run();
  void take(const Acceptor::Message& message);
  /// Why the process cannot be admitted. Empty if it can.
  std::string objection(const Hello& hello) const;
  /// Takes the newcomer one state further if possible.
  void advance(int rank, Newcomer& newcomer);
  void refuse(const std::string& sender, const std::string& reason);
  void notice(const std::string& line) const;

  const ReadmissionOptions options_;
  const Membership& membership_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Acceptor> acceptor_;
  std::map<int, Newcomer> newcomers_;  // by rank
  std::thread thread_;
};

}  // namespace troupe
