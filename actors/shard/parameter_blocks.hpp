#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "troupe/actors/shard/shard_update.hpp"

namespace troupe {

/// Copies of the parameters of a shard, one for each version that workers still read. Their memory is reused.
class ParameterBlocks {
 public:
  using Block = std::shared_ptr<const Tensor>;

  /// A copy of the current parameters.
  Block now(const ShardUpdate& parameters);
  /// The parameters have changed: the next now() makes another copy.
  void changed() { now_ = nullptr; }
  /// The block is read until that slot is free.
  void sent(std::uint32_t output, std::uint32_t slot, Block block) { sent_[{output, slot}] = std::move(block); }
  void freed(std::uint32_t output, std::uint32_t slot) { sent_.erase({output, slot}); }

 private:
  std::vector<std::shared_ptr<Tensor>> blocks_;  // a block is free if this is its only handle
  std::map<std::pair<std::uint32_t, std::uint32_t>, Block> sent_;
  Block now_;
};

}  // namespace troupe
