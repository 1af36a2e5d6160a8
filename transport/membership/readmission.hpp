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

/// The job that newcomers join, and the functions by which Readmission changes its members. A newcomer is a process
/// that joins while the job runs, with the rank of a process that is gone.
struct ReadmissionOptions {
  /// The rendezvous of the job. A newcomer is refused if one condition is not met within the `limit` of the rendezvous
  /// after its HELLO (the message with which a process joins): the earlier process of its rank is gone, the newcomer
  /// has confirmed the members, rank 0 has connected to it, and all other ranks have confirmed its address. `on_notice`
  /// also gets one line about each newcomer that is admitted or refused.
  RendezvousOptions rendezvous;
  /// Returns the current members, by rank.
  std::function<std::vector<Member>()> members;
  /// Replaces the member of a rank at rank 0, so that rank 0 and the newcomer can connect to each other.
  std::function<void(int rank, const Member& member)> replace;
  /// Sends the new member to all other ranks, whose confirmations Membership receives.
  std::function<void(int rank, const Member& member)> announce;
  /// Makes the rank present again. Readmission calls it when all ranks have confirmed, and then sends the newcomer the
  /// answer `go`.
  std::function<void(int rank)> admit;
};

/// Admits newcomers, at rank 0 while the job runs. A thread of this object listens at the address of the rendezvous and
/// calls the functions of the options.
class Readmission {
 public:
  /// Keeps a reference to `membership`. Throws Error if the address of the rendezvous cannot be bound.
  Readmission(ReadmissionOptions options, const Membership& membership);
  ~Readmission();
  Readmission(const Readmission&) = delete;
  Readmission& operator=(const Readmission&) = delete;

 private:
  /// A newcomer and the state of its admission. An empty sender marks a newcomer that was admitted or refused and is to
  /// be erased.
  struct Newcomer {
    std::string sender;
    Member member;
    std::chrono::steady_clock::time_point deadline;
    std::chrono::steady_clock::time_point reach_deadline = {};  ///< the end of the state `connected`
    enum {
      waiting,    ///< its rank is not known to be gone yet
      welcomed,   ///< the members were sent to it
      connected,  ///< it has confirmed the members
      announced   ///< its address was sent to the other ranks
    } state = waiting;
  };

  void run();
  void take(const Acceptor::Message& message);
  /// Returns the reason why a process with this HELLO cannot be admitted; empty if it can.
  std::string objection(const Hello& hello) const;
  /// Moves the newcomer to its next state if that is possible, and admits it after the last one. Refuses it if it has
  /// not moved and its deadline has passed.
  void advance(int rank, Newcomer& newcomer);
  void refuse(const std::string& sender, const std::string& reason);
  void stranger(const std::string& line) const;
  void notice(const std::string& line) const;

  const ReadmissionOptions options_;
  const Membership& membership_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Acceptor> acceptor_;
  std::map<int, Newcomer> newcomers_;  // by rank
  std::thread thread_;
};

}  // namespace troupe
