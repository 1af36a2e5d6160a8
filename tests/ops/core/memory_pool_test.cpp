#include "troupe/ops/core/memory_pool.hpp"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/test_device/device_queue.hpp"

namespace troupe::ops_test {

namespace {

/// A device with `room` bytes of memory, and its queued work.
class Source {
 public:
  explicit Source(std::size_t room) : room_(room) {}

  MemorySource functions() {
    return {[this](std::size_t bytes) -> std::byte* {
              if (bytes > room_) return nullptr;
              room_ -= bytes;
              return allocated_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
            },
            [this](std::byte*, std::size_t bytes) {
              room_ += bytes;
              ++given_back_;
            },
            [this] { return work_; }};
  }
  /// Queues work that uses all memory released from now on, until the event is completed.
  std::shared_ptr<testing::QueueEvent> begin_work() {
    auto state = std::make_shared<testing::QueueEvent>();
    work_ = {Event(state)};
    return state;
  }
  int given_back() const { return given_back_; }
  std::size_t room() const { return room_; }

 private:
  std::size_t room_;
  int given_back_ = 0;
  std::vector<Event> work_;
  std::vector<std::unique_ptr<std::byte[]>> allocated_;
};

}  // namespace

TEST_CASE("a released block is reused once the work before its release is done", "[memory pool]") {
  Source source(1 << 20);
  MemoryPool pool(source.functions());
  auto* first = pool.allocate(1000);
  const auto work = source.begin_work();
  pool.release(first, 1000);
  CHECK(pool.bytes_in_use() == 0);
  auto* second = pool.allocate(1000);
  CHECK(second != first);
  work->complete(nullptr);
  CHECK(pool.allocate(900) == first);  // both take 1,024 bytes
  CHECK(pool.bytes_in_use() == 2 * MemoryPool::rounded(1000));
  CHECK(pool.bytes_held() == pool.bytes_in_use());
}

TEST_CASE("memory is reused after work that has failed", "[memory pool]") {
  Source source(1 << 20);
  MemoryPool pool(source.functions());
  auto* block = pool.allocate(256);
  const auto work = source.begin_work();
  pool.release(block, 256);
  work->complete(std::make_exception_ptr(std::runtime_error("failed")));
  CHECK(pool.allocate(256) == block);
}

TEST_CASE("cached blocks are given back to a device that is out of memory", "[memory pool]") {
  Source source(1024);
  MemoryPool pool(source.functions());
  pool.release(pool.allocate(768), 768);
  CHECK(source.room() == 256);
  CHECK(pool.allocate(1024) != nullptr);
  CHECK(source.given_back() == 1);
  CHECK(pool.allocate(1) == nullptr);
  CHECK(pool.bytes_in_use() == 1024);
}

TEST_CASE("a pool that ends, or is trimmed, gives back all released memory", "[memory pool]") {
  Source source(1 << 20);
  {
    MemoryPool pool(source.functions());
    std::vector<std::pair<std::byte*, std::size_t>> blocks;
    for (const std::size_t bytes : {1, 256, 5000, 5000}) blocks.emplace_back(pool.allocate(bytes), bytes);
    const auto work = source.begin_work();
    for (const auto& [block, bytes] : blocks) pool.release(block, bytes);
    work->complete(nullptr);
    CHECK(pool.bytes_held() == 2 * 256 + 2 * MemoryPool::rounded(5000));
    pool.trim();
    CHECK(source.room() == 1 << 20);
    CHECK(pool.bytes_held() == 0);
    pool.release(pool.allocate(64), 64);
  }
  CHECK(source.room() == 1 << 20);
}

TEST_CASE("bytes that cannot be rounded up are out of memory", "[memory pool]") {
  Source source(1 << 20);
  MemoryPool pool(source.functions());
  CHECK(pool.allocate(~std::size_t{0}) == nullptr);
  CHECK(pool.bytes_in_use() == 0);
}

}  // namespace troupe::ops_test
