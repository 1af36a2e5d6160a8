#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/transport/all_reduce_algorithm.hpp"

namespace troupe::bench {

/// A message from one rank to another over their link: that the sender is ready for large parts, or a chunk of a part.
struct Message {
  std::int32_t from = 0, to = 0;
  std::int64_t bytes = 0;  ///< bytes in the payload
  bool ready = false;
  /// Whether the sender's collective completes only after this message was read.
  bool awaited = true;
  std::uint8_t phase = 0;
  /// The stage of a hierarchy: 0 inside the machine, 1 across machines, 2 back inside.
  std::uint8_t stage = 0;
  /// Whether it belongs to the comparison of the collectives that the ranks of a hierarchy have begun.
  bool check = false;
};

/// The actions of a rank, in this order. The model that replays a schedule implements them.
class RankActions {
 public:
  virtual ~RankActions() = default;
  virtual void send(const Message& message) = 0;
  /// Loads the payload of a message into this rank's caches if it is still in the sender's memory.
  virtual void read(const Message& message) = 0;
  /// Copies the payload of a message into a tensor.
  virtual void copy(const Message& message) = 0;
  /// Adds this many bytes, counted over all summands.
  virtual void add(std::int64_t bytes) = 0;
  /// Lets the sender reuse the payload of this message.
  virtual void release(const Message& message) = 0;
  /// Whether all payloads that this rank has sent in a stage, and that it waits for, were released.
  virtual bool all_read(std::uint8_t stage) const = 0;
};

/// One rank of one all-reduce. It sends the messages that a rank of that algorithm's communicator sends, without the
/// data.
class RankProgram {
 public:
  virtual ~RankProgram() = default;
  virtual void begin(RankActions& actions) = 0;
  /// Takes a message that has arrived, also before begin().
  virtual void take(const Message& message) = 0;
  /// Does the actions that are possible now. True if the collective is complete on this rank.
  virtual bool advance(RankActions& actions) = 0;
};

/// An all-reduce of a tensor of float32.
struct Collective {
  AllReduceAlgorithm algorithm = AllReduceAlgorithm::direct;
  int ranks = 1;
  std::int64_t bytes = 0;
  /// For the hierarchy: rank r is on machine r / ranks_per_machine.
  int ranks_per_machine = 1;
};

/// Throws Error for an algorithm other than direct, ring and hierarchy, or if a number is not positive.
std::unique_ptr<RankProgram> make_rank_program(const Collective& collective, int rank);

}  // namespace troupe::bench
