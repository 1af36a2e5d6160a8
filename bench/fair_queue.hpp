#pragma once

#include <algorithm>
#include <deque>
#include <list>
#include <unordered_map>
#include <utility>

#include "troupe/bench/collective_schedule.hpp"

namespace troupe::bench {

/// Messages that wait to leave by a port. Every pair of ranks has a connection, whose messages leave in order. The
/// connections are served round-robin, as those of TCP are.
class FairQueue {
 public:
  bool empty() const { return ready_connections_.empty(); }

  /// Queues a message. `bytes` counts all bytes that travel for it.
  void add(const Message& message, std::int64_t bytes) {
    const std::pair pair{message.from, message.to};
    auto& waiting = connections_[pair];
    if (waiting.empty()) ready_connections_.push_back(pair);
    waiting.push_back({message, bytes});
  }

  /// A part of a message, sent without interruption.
  struct Piece {
    Message message;
    std::int64_t bytes = 0;
    bool last = false;  ///< whether the piece ends the message
  };
  /// Takes the next piece, of `limit` bytes or the rest of a message.
  Piece take(std::int64_t limit) {
    const auto connection = connections_.find(ready_connections_.front());
    ready_connections_.pop_front();
    auto& waiting = connection->second;
    auto& first = waiting.front();
    const auto bytes = std::min(limit, first.left);
    first.left -= bytes;
    const Piece piece{first.message, bytes, first.left == 0};
    if (piece.last) waiting.pop_front();
    if (waiting.empty())
      connections_.erase(connection);
    else
      ready_connections_.push_back(connection->first);
    return piece;
  }

 private:
  using RankPair = std::pair<std::int32_t, std::int32_t>;
  struct Hash {
    std::size_t operator()(const RankPair& pair) const {
      return static_cast<std::size_t>(pair.first) * 65'537 + static_cast<std::size_t>(pair.second);
    }
  };
  /// A message and its bytes that have not been taken.
  struct Waiting {
    Message message;
    std::int64_t left;
  };

  std::deque<RankPair> ready_connections_;
  std::unordered_map<RankPair, std::list<Waiting>, Hash> connections_;
};

}  // namespace troupe::bench
