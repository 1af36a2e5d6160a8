#include "troupe/ops/data/array_hashes.hpp"

#include <algorithm>

#include "troupe/ops/core/hash.hpp"

namespace troupe {

std::string ArrayHashes::of(const Tensor& array) {
  std::lock_guard lock(mutex_);
  const auto present = std::ranges::find_if(hashes_, [&](const auto& entry) {
    return entry.first.raw() == array.raw() && entry.first.bytes() == array.bytes();
  });
  if (present != hashes_.end()) return present->second;
  Hash hash;
  hash.add_bytes(array.raw(), array.bytes());
  return hashes_.emplace_back(array, hash.hex()).second;
}

}  // namespace troupe
