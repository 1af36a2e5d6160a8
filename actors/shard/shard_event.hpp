#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// What a shard does with the gradients and questions of its workers. The order of these decides everything else.
struct ShardEvent {
  enum class Kind : std::int32_t {
    answer,  ///< one worker gets the parameters
    update,  ///< the gradients of these workers, in the order of their numbers, make one update
    drop,    ///< the gradient of one worker counts for nothing
  };
  Kind kind = Kind::answer;
  std::vector<int> workers = {};

  bool operator==(const ShardEvent&) const = default;
  /// Whether there is a worker; of updates alone there may be several.
  bool is_whole() const;

  /// As it travels: the kind, and for every worker whether it is concerned.
  static TensorInfo info(int workers) { return {Shape{1 + workers}, DType::int32}; }
  Tensor encode(int workers) const;
  /// Throws Error if it is none.
  static ShardEvent decode(const Tensor& tensor);

  /// As it is recorded: the kind, how many workers, and these.
  std::vector<std::int32_t> numbers() const;
  /// Several, one after the other. Throws Error if these are none.
  static std::vector<ShardEvent> from_numbers(std::span<const std::int32_t> numbers);
};

}  // namespace troupe
