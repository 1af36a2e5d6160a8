#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "troupe/actors/shard/shard_update.hpp"

namespace troupe {

/// Copies of the parameters of a shard that workers read, one for each version that is being read. Their memory is used
/// again.
class ParameterBlocks {
 public:
  using Block = std::shared_ptr<const Tensor>;

  /// The parameters as they are.
  Block now(const ShardUpdate& parameters);
  /// They are others now.
  void changed() { now_ = nullptr; }
  /// The block is being read until that slot is free.
  void sent(std::uint32_t output, std::uint32_t slot, Block block) { sent_[{output, slot}] = std::move(block); }
  void freed(std::uint32_t output, std::uint32_t slot) { sent_.erase({output, slot}); }

 private:
  std::vector<std::shared_ptr<Tensor>> blocks_;  // free if nobody else has a handle
  std::map<std::pair<std::uint32_t, std::uint32_t>, Block> sent_;
  Block now_;
};

}  // namespace troupe
