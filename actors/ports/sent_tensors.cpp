#include "troupe/actors/ports/sent_tensors.hpp"

#include <algorithm>
#include <string_view>

#include "troupe/ops/core/hash.hpp"

namespace troupe {

namespace {

constexpr std::size_t kBlock = 1'024, kBlocks = 64;

std::uint64_t checksum_of(std::span<const std::byte> memory) {
  const std::string_view bytes(reinterpret_cast<const char*>(memory.data()), memory.size());
  if (bytes.size() <= kBlock * kBlocks) return hash_of_text(bytes);
  Hash hash;
  const auto distance = (bytes.size() - kBlock) / (kBlocks - 1);
  for (std::size_t block = 0; block < kBlocks; ++block) hash.add_bytes(&bytes[block * distance], kBlock);
  return hash.digest();
}

}  // namespace

std::span<const std::byte> memory_of(const Tensor& tensor) {
  return tensor ? std::span<const std::byte>(tensor.address(), tensor.bytes()) : std::span<const std::byte>();
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return !a.empty() && !b.empty() && a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

void SentTensors::add(std::uint32_t output, std::uint32_t slot, const Tensor& tensor) {
  const auto memory = memory_of(tensor);
  if (memory.empty()) return;
  auto& sent = sent_.emplace_back(Sent{output, slot, memory, {}});
  if (!tensor.host_accessible() || !tensor.has_other_handles()) return;
  sent.kept = tensor;
  sent.checksum = checksum_of(memory);
}

bool SentTensors::remove(std::uint32_t output, std::uint32_t slot, Tensor* token) {
  const auto sent =
      std::ranges::find_if(sent_, [&](const Sent& each) { return each.output == output && each.slot == slot; });
  if (sent == sent_.end()) return true;
  bool unchanged = true;
  if (sent->kept) {
    if (token != nullptr) *token = Tensor();
    unchanged = !sent->kept.has_other_handles() || checksum_of(sent->memory) == sent->checksum;
    if (token != nullptr) *token = sent->kept;
  }
  sent_.erase(sent);
  return unchanged;
}

std::optional<std::uint32_t> SentTensors::output_with(std::span<const std::byte> memory) const {
  const auto sent = std::ranges::find_if(sent_, [&](const Sent& each) { return overlap(each.memory, memory); });
  return sent == sent_.end() ? std::nullopt : std::optional(sent->output);
}

}  // namespace troupe
