#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// One step of a shard's work on the requests and gradients of its workers. The order of the events determines
/// everything else.
struct ShardEvent {
  enum class Kind : std::int32_t {
    answer,  ///< one worker gets parameters
    update,  ///< the gradients of these workers, in ascending order, make one update
    drop,    ///< the gradient of one worker is dropped
  };
  Kind kind = Kind::answer;
  std::vector<int> workers = {};

  bool operator==(const ShardEvent&) const = default;
  /// Whether the event has a worker; only an update may have several.
  bool is_whole() const;

  /// The tensor in which an event travels: the kind, then for every worker whether the event has it.
  static TensorInfo info(int workers) { return {Shape{1 + workers}, DType::int32}; }
  Tensor encode(int workers) const;
  /// Throws Error if the tensor is no event.
  static ShardEvent decode(const Tensor& tensor);

  /// The event in a recording: the kind, the number of workers, and the workers.
  std::vector<std::int32_t> numbers() const;
  /// Reads the events of a recording. Throws Error if the numbers are no events.
  static std::vector<ShardEvent> from_numbers(std::span<const std::int32_t> numbers);
};

}  // namespace troupe
