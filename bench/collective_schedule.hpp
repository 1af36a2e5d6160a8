#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/transport/all_reduce_algorithm.hpp"

namespace troupe::bench {

/// What one rank sends another over their link: that it is ready for large parts, or one chunk of a part.
struct Message {
  std::int32_t from = 0, to = 0;
  std::int64_t bytes = 0;  ///< of the payload
  bool ready = false;
  /// The sender's collective is not complete before this was read.
  bool awaited = true;
  std::uint8_t phase = 0;
  /// Of a hierarchy: inside the machine, across machines, and back inside.
  std::uint8_t stage = 0;
};

/// What a rank does, in this order. Implemented by what replays it.
class RankActions {
 public:
  virtual ~RankActions() = default;
  virtual void send(const Message& message) = 0;
  /// Brings the payload of a message to this rank's caches if it is still in the sender's memory.
  virtual void read(const Message& message) = 0;
  /// Copies the payload of a message into a tensor.
  virtual void copy(const Message& message) = 0;
  /// Adds so many bytes, those of all summands counted.
  virtual void add(std::int64_t bytes) = 0;
  /// The sender may use the payload of this message again.
  virtual void release(const Message& message) = 0;
  /// Whether all payloads that this rank has sent in a stage, and that it awaits, were released.
  virtual bool all_read(std::uint8_t stage) const = 0;
};

/// One rank of one all-reduce, which sends what a rank of the communicator of that algorithm sends, without the data.
class RankProgram {
 public:
  virtual ~RankProgram() = default;
  virtual void begin(RankActions& actions) = 0;
  /// A message has arrived, also before begin().
  virtual void take(const Message& message) = 0;
  /// Does what can be done. True if the collective is complete on this rank.
  virtual bool advance(RankActions& actions) = 0;
};

/// An all-reduce of a tensor of float32.
struct Collective {
  AllReduceAlgorithm algorithm = AllReduceAlgorithm::direct;
  int ranks = 1;
  std::int64_t bytes = 0;
  /// Of the hierarchy: rank r is on machine r / ranks_per_machine.
  int ranks_per_machine = 1;
};

/// Throws Error for an algorithm other than direct, ring and hierarchy, and for numbers that are not positive.
std::unique_ptr<RankProgram> make_rank_program(const Collective& collective, int rank);

}  // namespace troupe::bench
