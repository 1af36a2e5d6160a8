#include "troupe/ops/core/allocator.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace troupe::ops_test {

TEST_CASE("blocks are aligned, zeroed and reused", "[allocator]") {
  Allocator allocator;
  auto* block = allocator.allocate(100);
  CHECK(reinterpret_cast<std::uintptr_t>(block) % Allocator::kAlignment == 0);
  std::memset(block, 0xAB, 100);
  allocator.release(block, 100);
  auto* again = allocator.allocate(128);
  CHECK(again == block);
  CHECK(std::all_of(again, again + 128, [](std::byte b) { return b == std::byte{0}; }));
  allocator.release(again, 128);
}

TEST_CASE("large blocks begin at a huge page", "[allocator]") {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  Allocator allocator;
  for (const auto bytes : {kHugePage, 3 * kHugePage / 2}) {
    auto* const block = allocator.allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % kHugePage == 0);
    CHECK(std::all_of(block, block + bytes, [](std::byte b) { return b == std::byte{0}; }));
    allocator.release(block, bytes);
  }
}

TEST_CASE("a block with any contents is not zeroed", "[allocator]") {
  constexpr std::size_t kBytes = 192;
  Allocator allocator;
  auto* const block = allocator.allocate(kBytes);
  std::fill_n(block, kBytes, std::byte{7});
  allocator.release(block, kBytes);
  REQUIRE(allocator.allocate(kBytes, Allocator::Contents::any) == block);
  CHECK(block[kBytes / 2] == std::byte{7});
  allocator.release(block, kBytes);
}

#if defined(__SANITIZE_ADDRESS__)
TEST_CASE("AddressSanitizer knows which blocks are in use", "[allocator]") {
  constexpr std::size_t kBytes = 192;
  Allocator allocator;
  auto* const block = allocator.allocate(kBytes);
  CHECK(__asan_region_is_poisoned(block, kBytes) == nullptr);
  allocator.release(block, kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) CHECK(__asan_address_is_poisoned(block + i));
  REQUIRE(allocator.allocate(kBytes, Allocator::Contents::any) == block);
  CHECK(__asan_region_is_poisoned(block, kBytes) == nullptr);
  allocator.release(block, kBytes);
}
#endif

TEST_CASE("blocks that are in use at the same time do not overlap", "[allocator]") {
  Allocator allocator;
  auto* a = allocator.allocate(64);
  auto* b = allocator.allocate(64);
  CHECK(std::abs(a - b) >= 64);
  allocator.release(a, 64);
  allocator.release(b, 64);
}

TEST_CASE("bytes in use and their peak are counted in whole blocks", "[allocator]") {
  Allocator allocator;
  auto* a = allocator.allocate(1);
  auto* b = allocator.allocate(65);
  CHECK(allocator.bytes_in_use() == 64 + 128);
  allocator.release(b, 65);
  CHECK(allocator.bytes_in_use() == 64);
  CHECK(allocator.peak_bytes() == 192);
  allocator.reset_peak();
  CHECK(allocator.peak_bytes() == 64);
  allocator.release(a, 1);
  allocator.trim();
  CHECK(allocator.bytes_in_use() == 0);
}

TEST_CASE("nothing is allocated for no bytes", "[allocator]") {
  Allocator allocator;
  CHECK(allocator.allocate(0) == nullptr);
  allocator.release(nullptr, 0);
  CHECK(allocator.peak_bytes() == 0);
}

TEST_CASE("running out of memory is an error and is not counted", "[allocator]") {
  Allocator allocator;
  const auto all = std::numeric_limits<std::size_t>::max();
  CHECK(contains(error_of([&] { allocator.allocate(all); }), "[allocator]"));
  CHECK(contains(error_of([&] { allocator.allocate(all / 4); }), "[allocator] out of memory"));
  CHECK(allocator.bytes_in_use() == 0);
}

TEST_CASE("threads may share an allocator", "[allocator]") {
  Allocator allocator;
  std::atomic<int> faults{0};
  const auto work = [&](int seed) {
    for (int i = 0; i < 500; ++i) {
      const auto bytes = static_cast<std::size_t>(64 * (1 + (i * seed) % 3));
      auto* block = allocator.allocate(bytes);
      if (std::any_of(block, block + bytes, [](std::byte b) { return b != std::byte{0}; })) ++faults;
      std::memset(block, seed, bytes);
      if (std::any_of(block, block + bytes, [&](std::byte b) { return b != static_cast<std::byte>(seed); })) ++faults;
      allocator.release(block, bytes);
    }
  };
  std::vector<std::jthread> threads;
  for (int seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  threads.clear();
  CHECK(faults == 0);
  CHECK(allocator.bytes_in_use() == 0);
  CHECK(allocator.peak_bytes() <= 4 * 192);
}

}  // namespace troupe::ops_test
