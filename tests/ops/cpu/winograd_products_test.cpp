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

cpu::Planes planes_of(Floats& floats, std::int64_t tiles) {
  return {floats.data(), static_cast<std::int64_t>(floats.size()) / cpu::kPlanes, tiles * cpu::kBlock};
}

/// The place of a tile and channel in planes of `tiles` tiles of `channels` channels.
std::size_t place_of(std::int64_t plane, std::int64_t tile, std::int64_t channel, std::int64_t tiles,
                     std::int64_t channels) {
  const auto block = channel / cpu::kBlock;
  return static_cast<std::size_t>(plane * tiles * channels + (block * tiles + tile) * cpu::kBlock +
                                  channel % cpu::kBlock);
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
  constexpr std::int64_t kTiles = 24, kChannels = 48;
  for (const std::int64_t filters : {16, 32, 48}) {
    auto inputs = random_floats(cpu::kPlanes * kTiles * kChannels, 1);
    const auto weights = random_floats(cpu::kPlanes * kChannels * filters, 2);
    Floats exact(static_cast<std::size_t>(cpu::kPlanes * kTiles * filters));
    for (std::int64_t row = 0; row < cpu::kPlanes * kTiles; ++row)
      for (std::int64_t i = 0; i < filters; ++i) {
        const auto plane = row / kTiles, tile = row % kTiles;
        auto& sum = exact[place_of(plane, tile, i, kTiles, filters)];
        for (std::int64_t c = 0; c < kChannels; ++c)
          sum = std::fma(inputs[place_of(plane, tile, c, kTiles, kChannels)],
                         weights[static_cast<std::size_t>((plane * kChannels + c) * filters + i)], sum);
      }
    for (const auto registers : available()) {
      auto sums = random_floats(cpu::kPlanes * kTiles * filters, 3);
      cpu::multiply_by_weights(kTiles, kChannels, filters, planes_of(inputs, kTiles), weights.data(),
                               planes_of(sums, kTiles), registers);
      CHECK(std::ranges::equal(sums, exact));
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
        for (std::int64_t tile = 0; tile < kTiles; ++tile)
          sum = std::fma(inputs[place_of(plane, tile, channel, kTiles, kChannels)],
                         grads[place_of(plane, tile, i, kTiles, filters)], sum);
      }
    for (const auto registers : available()) {
      auto sums = random_floats(cpu::kPlanes * kChannels * filters, 3);
      cpu::multiply_over_tiles(kTiles, kChannels, filters, planes_of(inputs, kTiles), planes_of(grads, kTiles),
                               sums.data(), registers);
      CHECK(std::ranges::equal(sums, exact));
    }
  }
}

}  // namespace troupe::ops_test
