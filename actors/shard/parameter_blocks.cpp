#include "troupe/actors/shard/parameter_blocks.hpp"

#include <algorithm>

#include "troupe/ops/core/only_handle.hpp"

namespace troupe {

ParameterBlocks::Block ParameterBlocks::now(const ShardUpdate& parameters) {
  if (now_) return now_;
  auto free = std::ranges::find_if(blocks_, [](const auto& block) { return is_only_handle(block); });
  if (free == blocks_.end()) {
    const auto info = parameters.parameter_block();
    free = blocks_.insert(blocks_.end(), std::make_shared<Tensor>(info.shape, info.dtype));
  }
  parameters.pack(**free);
  return now_ = *free;
}

}  // namespace troupe
