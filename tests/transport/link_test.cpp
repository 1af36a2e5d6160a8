#include "troupe/transport/link.hpp"

#include <algorithm>
#include <atomic>
#include <span>
#include <thread>
#include <vector>

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

Frame numbered(std::int64_t step, std::int64_t elements = 3) {
  Tensor payload(Shape{elements}, DType::int64);
  for (auto& element : payload.mutable_data<std::int64_t>()) element = step;
  return {{.type = FrameType::tensor_ready, .edge = 5, .step = step}, payload};
}

/// The step numbers of all frames that are there.
std::vector<std::int64_t> received(Link& link) {
  std::vector<std::int64_t> steps;
  while (const auto frame = link.receive()) steps.push_back(frame->header.step);
  return steps;
}

}  // namespace

TEST_CASE("frames arrive whole, in order, in new memory, in both directions") {
  const auto [a, b] = make_memory_link();
  const auto first = numbered(1);
  CHECK(a->send(first));
  CHECK(a->send(numbered(2, 0)));
  CHECK(b->send({{.type = FrameType::credit_returned, .edge = 5, .slot = 1, .part = 2}}));
  const auto frame = b->receive();
  REQUIRE(frame);
  CHECK(frame->header == first.header);
  const auto arrived = frame->payload->tensor();
  CHECK(arrived.raw() != first.payload.raw());
  first.payload.mutable_data<std::int64_t>()[0] = 99;
  CHECK(arrived.data<std::int64_t>()[0] == 1);
  CHECK(received(*b) == std::vector<std::int64_t>{2});
  CHECK(a->receive()->header.part == 2);
  CHECK_FALSE(a->receive());
  CHECK_FALSE(a->failure());
}

TEST_CASE("payloads of every type arrive byte for byte") {
  const auto [a, b] = make_memory_link();
  std::vector<Tensor> sent;
  for (const auto dtype : {DType::float32, DType::int32, DType::int64, DType::uint8, DType::float16, DType::bfloat16})
    for (const auto& shape : {Shape{}, Shape{3, 5}, Shape{0, 2}, Shape{1, 2, 1, 2, 1, 2}}) {
      const auto& tensor = sent.emplace_back(shape, dtype);
      for (std::size_t i = 0; i < tensor.bytes(); ++i)
        tensor.mutable_raw()[i] = static_cast<std::byte>(37 * i + 11 * sent.size() + 5);
      REQUIRE(a->send({{.type = FrameType::tensor_ready, .edge = 5}, tensor}));
    }
  for (const auto& tensor : sent) {
    const auto frame = b->receive();
    REQUIRE(frame);
    const auto arrived = frame->payload->tensor();
    CHECK(arrived.shape() == tensor.shape());
    CHECK(arrived.dtype() == tensor.dtype());
    CHECK(std::ranges::equal(std::span(arrived.raw(), arrived.bytes()), std::span(tensor.raw(), tensor.bytes())));
  }
}

TEST_CASE("the receiver is told of every frame, and at once of those that were there before") {
  const auto [a, b] = make_memory_link();
  int told = 0;
  a->send(numbered(0));
  b->on_ready([&] { ++told; });
  CHECK(told == 1);
  a->send(numbered(1));
  CHECK(told == 2);
  b->on_ready({});
  a->send(numbered(2));
  CHECK(told == 2);
}

TEST_CASE("what was sent before the link was closed still arrives, then the other end learns that it is closed") {
  auto [a, b] = make_memory_link();
  bool told = false;
  b->on_ready([&] { told = true; });
  a->send(numbered(0));
  told = false;
  a.reset();
  CHECK(told);
  CHECK_FALSE(b->failure());
  CHECK(received(*b) == std::vector<std::int64_t>{0});
  REQUIRE(b->failure());
  CHECK(b->failure()->kind == FailureKind::part_died);
  CHECK_THAT(b->failure()->what, Contains("closed"));
  CHECK_FALSE(b->send(numbered(1)));
}

TEST_CASE("the end that closes a link has no failure, and sends no more") {
  const auto [a, b] = make_memory_link();
  a->close();
  CHECK_FALSE(a->failure());
  CHECK_FALSE(a->send(numbered(0)));
  CHECK(b->failure());
}

TEST_CASE("a link breaks at the frame it is told to, at both ends") {
  const auto [a, b] = make_memory_link({.break_at = 2});
  int told = 0;
  a->on_ready([&] { ++told; });
  for (std::int64_t step = 0; step < 5; ++step) a->send(numbered(step));
  CHECK(told == 1);
  CHECK(received(*b) == std::vector<std::int64_t>{0, 1});
  REQUIRE(a->failure());
  REQUIRE(b->failure());
  CHECK_THAT(a->failure()->what, Contains("broke"));
}

TEST_CASE("a damaged frame is never received; both ends fail") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto [a, b] = make_memory_link({.flip_bit_at = 1, .seed = seed});
    for (std::int64_t step = 0; step < 3; ++step) a->send(numbered(step));
    CHECK(received(*b) == std::vector<std::int64_t>{0});
    REQUIRE(a->failure());
    REQUIRE(b->failure());
    CHECK_THAT(b->failure()->what, Contains("damaged") && Contains("[frame]"));
  }
}

TEST_CASE("a payload above the limit is damage") {
  const auto [a, b] = make_memory_link({}, 100);
  a->send(numbered(0, 12));
  a->send(numbered(1, 13));
  CHECK(received(*b) == std::vector<std::int64_t>{0});
  REQUIRE(b->failure());
  CHECK_THAT(b->failure()->what, Contains("above the limit"));
}

TEST_CASE("both ends send and receive on separate threads") {
  constexpr std::int64_t kFrames = 20'000;
  const auto [a, b] = make_memory_link();
  const auto talk = [](Link& link, bool& good) {
    std::atomic<int> ready{0};
    link.on_ready([&] {
      ++ready;
      ready.notify_one();
    });
    std::thread sender([&] {
      for (std::int64_t step = 0; step < kFrames; ++step) link.send(numbered(step));
    });
    std::int64_t next = 0;
    good = true;
    while (next < kFrames) {
      const auto before = ready.load();
      while (const auto frame = link.receive()) good = good && frame->header.step == next++;
      if (next < kFrames) ready.wait(before);
    }
    sender.join();
  };
  bool good_a = false, good_b = false;
  std::thread other([&, &link = *a] { talk(link, good_a); });
  talk(*b, good_b);
  other.join();
  CHECK(good_a);
  CHECK(good_b);
}
