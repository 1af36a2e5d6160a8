#include "troupe/ops/cpu/winograd_products.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

namespace {

using Floats = std::vector<float>;

Floats random_floats(std::int64_t count, std::uint64_t seed) {
  Floats floats(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = uniform(seed, 0, i) - 0.5F;
  return floats;
}

cpu::Planes planes_of(Floats& floats) {
  return {floats.data(), static_cast<std::int64_t>(floats.size()) / cpu::kPlanes};
}

std::vector<cpu::ProductRegisters> available() {
  using enum cpu::ProductRegisters;
  std::vector<cpu::ProductRegisters> available;
  for (const auto registers : {bits512, bits256, of_fma})
    if (cpu::has_registers(registers)) available.push_back(registers);
  return available;
}

}  // namespace

TEST_CASE("products with weights add each term by a fused multiply-add, in order, in all registers") {
  constexpr std::int64_t kTiles = 16, kChannels = 48;
  for (const std::int64_t filters : {16, 32, 48}) {
    auto inputs = random_floats(cpu::kPlanes * kTiles * kChannels, 1);
    const auto weights = random_floats(cpu::kPlanes * kChannels * filters, 2);
    Floats exact(static_cast<std::size_t>(cpu::kPlanes * kTiles * filters));
    for (std::int64_t row = 0; row < cpu::kPlanes * kTiles; ++row)
      for (std::int64_t i = 0; i < filters; ++i) {
        auto& sum = exact[static_cast<std::size_t>(row * filters + i)];
        for (std::int64_t c = 0; c < kChannels; ++c)
          sum = std::fma(inputs[static_cast<std::size_t>(row * kChannels + c)],
                         weights[static_cast<std::size_t>((row / kTiles * kChannels + c) * filters + i)], sum);
      }
    for (const auto registers : available()) {
      auto sums = random_floats(cpu::kPlanes * kTiles * filters, 3);
      cpu::multiply_by_weights(kTiles, kChannels, filters, planes_of(inputs), weights.data(), planes_of(sums),
                               registers);
      CHECK(sums == exact);
    }
  }
}

TEST_CASE("products over tiles add each term by a fused multiply-add, in order, in all registers") {
  constexpr std::int64_t kTiles = 5, kChannels = 32;
  for (const std::int64_t filters : {16, 32, 48}) {
    auto inputs = random_floats(cpu::kPlanes * kTiles * kChannels, 1);
    auto grads = random_floats(cpu::kPlanes * kTiles * filters, 2);
    Floats exact(static_cast<std::size_t>(cpu::kPlanes * kChannels * filters));
    for (std::int64_t row = 0; row < cpu::kPlanes * kChannels; ++row)
      for (std::int64_t i = 0; i < filters; ++i) {
        auto& sum = exact[static_cast<std::size_t>(row * filters + i)];
        const auto plane = row / kChannels, channel = row % kChannels;
        for (std::int64_t tile = plane * kTiles; tile < (plane + 1) * kTiles; ++tile)
          sum = std::fma(inputs[static_cast<std::size_t>(tile * kChannels + channel)],
                         grads[static_cast<std::size_t>(tile * filters + i)], sum);
      }
    for (const auto registers : available()) {
      auto sums = random_floats(cpu::kPlanes * kChannels * filters, 3);
      cpu::multiply_over_tiles(kTiles, kChannels, filters, planes_of(inputs), planes_of(grads), sums.data(), registers);
      CHECK(sums == exact);
    }
  }
}

}  // namespace troupe::ops_test
