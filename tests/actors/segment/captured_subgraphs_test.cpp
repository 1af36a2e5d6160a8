#include "troupe/actors/segment/captured_subgraphs.hpp"

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/test_device/test_device.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Work that copies one number on, task by task: the last place holds what was in the first.
class Copies {
 public:
  static constexpr std::size_t kTasks = 4;

  Copies() : stream_(backend_of(test_device()).make_stream(test_device())) {
    for (std::size_t i = 0; i <= kTasks; ++i) places_.emplace_back(Shape{1}, DType::float32, test_device());
  }

  void set(float number) { copy_and_wait(Tensor::scalar(number).view(Shape{1}), places_.front()); }
  float result() const { return places_.back().to(Device{}).data<float>()[0]; }
  Stream& stream() { return *stream_; }

  CapturedSubgraphs::Resources launch(std::size_t first, std::size_t end) {
    for (auto i = first; i < end; ++i) copy(*stream_, places_[i], places_[i + 1]);
    launched_ += end - first;
    return {resource_};
  }
  /// Handles to the resource that the captured work holds.
  std::int64_t resource_uses() const { return resource_.use_count() - 1; }
  /// A firing as a segment makes it.
  void fire(CapturedSubgraphs& subgraphs, const CapturedSubgraphs::Key& key) {
    subgraphs.start(key);
    for (std::size_t task = 0; task < kTasks;) {
      const auto end =
          subgraphs.launch(task, *stream_, [this](std::size_t first, std::size_t last) { return launch(first, last); });
      if (end == task) launch(task, task + 1);
      task = end == task ? task + 1 : end;
    }
    subgraphs.finish();
    stream_->record().wait();
  }
  std::size_t launched() const { return launched_; }

 private:
  std::vector<Tensor> places_;
  std::unique_ptr<Stream> stream_;
  std::size_t launched_ = 0;
  std::shared_ptr<int> resource_ = std::make_shared<int>();
};

}  // namespace

TEST_CASE("a firing that failed does not count, also before it started") {
  Copies copies;
  CapturedSubgraphs subgraphs({4, 4, 4, 4});
  subgraphs.abandon();
  subgraphs.finish();
  subgraphs.start({1});
  subgraphs.abandon();
  subgraphs.finish();
  copies.set(3.0F);
  copies.fire(subgraphs, {1});
  CHECK(copies.launched() == Copies::kTasks);
  CHECK(subgraphs.launches() == 0);
  copies.fire(subgraphs, {1});
  CHECK(subgraphs.launches() == 1);
  CHECK(copies.result() == 3.0F);
}

TEST_CASE("the first firing of a key runs task by task, the second is captured, the rest are launched") {
  Copies copies;
  CapturedSubgraphs subgraphs({4, 4, 4, 4});
  for (int firing = 0; firing < 5; ++firing) {
    copies.set(static_cast<float>(firing + 1));
    copies.fire(subgraphs, {1, 2});
    CHECK(copies.result() == static_cast<float>(firing + 1));
    CHECK(subgraphs.launches() == firing);
  }
  CHECK(copies.launched() == 2 * Copies::kTasks);
  copies.fire(subgraphs, {1, 3});
  CHECK(subgraphs.launches() == 4);
  CHECK(copies.launched() == 3 * Copies::kTasks);
}

TEST_CASE("a subgraph ends where it is cut, and a task alone is not captured") {
  Copies copies;
  CapturedSubgraphs subgraphs({3, 3, 3, 4});
  for (int firing = 0; firing < 3; ++firing) {
    copies.set(static_cast<float>(firing));
    copies.fire(subgraphs, {});
    CHECK(copies.result() == static_cast<float>(firing));
  }
  CHECK(subgraphs.launches() == 2);
  CHECK(copies.launched() == 4 + 4 + 1);
}

TEST_CASE("the key that was not used for longest makes way") {
  Copies copies;
  CapturedSubgraphs subgraphs({4, 4, 4, 4});
  for (std::uintptr_t key = 0; key <= CapturedSubgraphs::kMostKeys; ++key) copies.fire(subgraphs, {key});
  copies.fire(subgraphs, {1});
  CHECK(subgraphs.launches() == 1);
  copies.fire(subgraphs, {0});
  CHECK(subgraphs.launches() == 1);
}

TEST_CASE("a key that is used again stays, and one that came after it makes way") {
  Copies copies;
  CapturedSubgraphs subgraphs({4, 4, 4, 4});
  for (std::uintptr_t key = 0; key < CapturedSubgraphs::kMostKeys; ++key) copies.fire(subgraphs, {key});
  copies.fire(subgraphs, {0});
  copies.fire(subgraphs, {CapturedSubgraphs::kMostKeys});
  CHECK(subgraphs.launches() == 1);
  copies.fire(subgraphs, {0});
  CHECK(subgraphs.launches() == 2);
  copies.fire(subgraphs, {1});
  CHECK(subgraphs.launches() == 2);
}

TEST_CASE("captured work keeps what it needs until it makes way") {
  Copies copies;
  CapturedSubgraphs subgraphs({4, 4, 4, 4});
  copies.fire(subgraphs, {0});
  CHECK(copies.resource_uses() == 0);
  copies.fire(subgraphs, {0});
  CHECK(copies.resource_uses() == 1);
  for (std::uintptr_t key = 1; key <= CapturedSubgraphs::kMostKeys; ++key) copies.fire(subgraphs, {key});
  CHECK(copies.resource_uses() == 0);
}

TEST_CASE("what earlier work failed with is told, not that something cannot be captured") {
  Copies copies;
  CapturedSubgraphs subgraphs({4, 4, 4, 4});
  copies.fire(subgraphs, {});
  copies.stream().wait(failed_event(std::make_exception_ptr(Error("fragile", "a kernel failed"))));
  REQUIRE(copies.stream().record().state()->wait_for(patience()));
  subgraphs.start({});
  const auto refuse = [](std::size_t, std::size_t) -> CapturedSubgraphs::Resources {
    throw Error("innocent", "a kernel failed");
  };
  CHECK_THROWS_WITH(subgraphs.launch(0, copies.stream(), refuse), "[fragile] a kernel failed");
}

TEST_CASE("what cannot be captured runs task by task, and its errors are those of the tasks") {
  Copies copies;
  CapturedSubgraphs subgraphs({4, 4, 4, 4});
  copies.set(1.0F);
  copies.fire(subgraphs, {});
  subgraphs.start({});
  const auto refuse = [&](std::size_t, std::size_t) -> CapturedSubgraphs::Resources {
    (void)copies.stream().record();
    return {};
  };
  CHECK(subgraphs.launch(0, copies.stream(), refuse) == 0);
  copies.set(2.0F);
  copies.fire(subgraphs, {});
  CHECK(copies.result() == 2.0F);
  CHECK(subgraphs.launches() == 0);
}
