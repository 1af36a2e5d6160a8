#pragma once

#include <cstdint>
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

  /// As it travels: the kind, and for every worker whether it is concerned.
  static TensorInfo info(int workers) { return {Shape{1 + workers}, DType::int32}; }
  Tensor encode(int workers) const;
  /// Throws Error if it is none.
  static ShardEvent decode(const Tensor& tensor);
};

}  // namespace troupe
