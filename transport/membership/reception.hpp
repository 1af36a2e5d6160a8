#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "troupe/transport/lobby.hpp"
#include "troupe/transport/membership/rendezvous.hpp"

namespace troupe {

struct ReceptionOptions {
  Job job;
  Agreement agreement;
  std::string bind;
  /// How long one that comes back waits until it is known that it was gone, and until all others know its address.
  std::chrono::milliseconds limit{60'000};
  /// Whether the job can do without a rank, and whether it has.
  std::function<bool(int rank)> is_expendable, is_gone;
  /// Everybody who is there, by rank.
  std::function<std::vector<Member>()> members;
  /// A rank has come back: makes it known, here and to all others.
  std::function<void(int rank, const Member& member)> make_known;
  /// Whether all others know it.
  std::function<bool(int rank)> is_known;
  /// It may begin: it is told so afterwards.
  std::function<void(int rank)> admit;
  std::function<void(const std::string& line)> on_notice = {};
};

/// Rank 0's door once the job has begun: processes that come again in place of one that is gone. A thread of its own.
class Reception {
 public:
  explicit Reception(ReceptionOptions options);
  ~Reception();
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

 private:
  /// One who waits.
  struct Guest {
    std::string sender;
    Member member;
    std::chrono::steady_clock::time_point deadline;
    enum { waits, was_welcomed, knows_all, is_announced } state = waits;
  };

  void receive_guests();
  void take(const Lobby::Message& message);
  /// Why it cannot come; empty if it can.
  std::string objection(const Hello& hello) const;
  void look_after(int rank, Guest& guest);
  void refuse(const std::string& sender, const std::string& reason);
  void notice(const std::string& line) const;

  const ReceptionOptions options_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Lobby> lobby_;
  std::map<int, Guest> guests_;  // by rank
  std::thread thread_;
};

}  // namespace troupe
