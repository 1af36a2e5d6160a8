// What a communicator does when ranks are wrong, late, failed or gone.

#include <algorithm>
#include <atomic>
#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/transport/groups.hpp"
#include "troupe/transport/communicator.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

FailurePtr fire() {
  return std::make_shared<Failure>(
      Failure{.rank = 3, .replica = 2, .actor = "matmul@2", .op = "matmul", .step = 7, .what = "the house is on fire"});
}

/// A link that sends its frames when release() is called.
class HeldLink final : public Link {
 public:
  explicit HeldLink(std::shared_ptr<Link> link) : link_(std::move(link)) {}

  void release() {
    for (const auto& frame : std::exchange(frames_, {})) link_->send(frame);
  }
  bool send(const Frame& frame) override {
    frames_.push_back(frame);
    return true;
  }
  std::optional<IncomingFrame> receive() override { return link_->receive(); }
  void on_ready(OnReady callback) override { link_->on_ready(std::move(callback)); }
  void close() override { link_->close(); }
  FailurePtr failure() const override { return link_->failure(); }

 private:
  const std::shared_ptr<Link> link_;
  std::vector<Frame> frames_;
};

/// The failure with which a call ends.
template <class Call>
FailurePtr failure_of_call(Call call) {
  try {
    call();
  } catch (const Aborted& aborted) {
    return aborted.failure();
  }
  return nullptr;
}

}  // namespace

TEST_CASE("ranks that call different collectives both learn who did what") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  const auto group = kind.make(2);
  const auto first = group[0]->all_reduce(Tensor(Shape{4}, DType::float32));
  CHECK_THROWS_WITH(group[1]->all_reduce(Tensor(Shape{5}, DType::float32))->wait(patience()),
                    Contains("all_reduce of 4 float32 on rank 0 but all_reduce of 5 float32 on rank 1"));
  CHECK_THROWS_WITH(first->wait(patience()), Contains("rank 0") && Contains("rank 1"));
  CHECK_THROWS_AS(group[0]->barrier(), Error);
}

TEST_CASE("ranks that call collectives of different kinds or roots fail with the text of both") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  // With two ranks on each machine, the last rank differs from another rank of its machine or from another machine.
  const int ranks = GENERATE(2, 3, 4);
  const auto four = [] { return Tensor(Shape{4}, DType::float32); };
  using Call = std::function<std::shared_ptr<Work>(Communicator&)>;
  const std::vector<std::pair<std::string, Call>> calls{
      {"all_reduce of 4 float32", [&](auto& on) { return on.all_reduce(four()); }},
      {"broadcast of 4 float32", [&](auto& on) { return on.broadcast(four(), 0); }},
      {"broadcast of 4 float32", [&](auto& on) { return on.broadcast(four(), 1); }},
      {"barrier", [](auto& on) { return on.barrier(); }},
      {"all_gather of 4 float32",
       [&](auto& on) { return on.all_gather(four(), Tensor(Shape{4 * on.size()}, DType::float32)); }}};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto &call = calls[i], &last = calls[(i + 1) % calls.size()];
    INFO(call.first << ", " << last.first);
    const auto group = kind.make(ranks);
    std::atomic<int> failed{0};
    on_ranks(group, [&](Communicator& communicator) {
      const auto failure = failure_of_call([&] {
        const auto& begin = communicator.rank() == ranks - 1 ? last.second : call.second;
        begin(communicator)->wait(patience());
        // The root of a broadcast may have done its part; it goes no further than that.
        communicator.barrier()->wait(patience());
      });
      if (failure && failure->what.find(call.first) != std::string::npos &&
          failure->what.find(last.first) != std::string::npos)
        ++failed;
    });
    CHECK(failed == ranks);
  }
}

TEST_CASE("a rank that does not come is named when the time is over") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  const auto group = kind.make(3);
  const auto tensor = Tensor::scalar(1.0F);
  const auto work = group[0]->all_reduce(tensor);
  group[2]->all_reduce(Tensor::scalar(1.0F));
  CHECK_THROWS_WITH(work->wait(std::chrono::milliseconds(5)), Contains("all_reduce of 1 float32: rank 1 has not come"));
}

TEST_CASE("abort wakes and fails every rank, now and from now on, with the same root cause") {
  const auto& kind = GENERATE(from_range(synchronous_group_kinds()));
  INFO(kind.name);
  const auto group = kind.make(3);
  std::vector<int> woken(2);
  const auto barrier = group[0]->barrier([&] { ++woken[0]; });
  const auto own = group[1]->barrier([&] { ++woken[1]; });
  woken = {0, 0};
  group[1]->abort(fire());
  group[2]->abort(std::make_shared<Failure>(Failure{.what = "something else"}));
  CHECK(woken[0] > 0);
  CHECK(woken[1] > 0);
  const auto check = [](const FailurePtr& failure) {
    REQUIRE(failure);
    CHECK(to_string(*failure) == to_string(*fire()));
    CHECK(failure->actor == "matmul@2");
  };
  check(failure_of_call([&] { barrier->advance(); }));
  check(failure_of_call([&] { own->advance(); }));
  for (int rank : {0, 1}) check(failure_of_call([&] { group[rank]->all_reduce(Tensor::scalar(1.0F)); }));
  CHECK_THROWS_WITH(barrier->advance(), Contains("the house is on fire (op matmul, step 7, replica 2, rank 3)"));
}

TEST_CASE("a rank whose part fails fails the others too") {
  const auto& kind = GENERATE(from_range(synchronous_group_kinds()));
  INFO(kind.name);
  const auto group = kind.make(2);
  bool woken = false;
  const auto first = group[0]->all_reduce(Tensor(Shape{4}, DType::uint8), [&] { woken = true; });
  const auto second = group[1]->all_reduce(Tensor(Shape{4}, DType::uint8));
  const Failure origin{.rank = 1, .replica = 3, .actor = "all_reduce0@3", .step = 7};
  second->set_origin(&origin);
  woken = false;
  CHECK_THROWS_WITH(second->advance(), Contains("no sum of uint8"));
  CHECK(woken);
  CHECK_THROWS_WITH(first->advance(),
                    Contains("no sum of uint8") && Contains("(op all_reduce0@3, step 7, replica 3, rank 1)"));
}

TEST_CASE("a failed collective lets go of its tensor") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  const auto group = kind.make(2);
  const Tensor tensor(Shape{4}, DType::float32);
  auto work = group[0]->all_reduce(tensor);
  const bool left = GENERATE(false, true);
  left ? group[1]->leave(fire()) : group[1]->abort(fire());
  CHECK_THROWS_AS(work->wait(patience()), Aborted);
  work.reset();
  CHECK(tensor.use_count() == 1);
}

TEST_CASE("a rank may write to its tensor once its collective has failed, while the other ranks still work") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  constexpr std::int64_t kCount = 1'000'000;
  const auto expected = sum_in_rank_order(kCount, 2);
  for (std::uint64_t round = 0; round < fuzz_cases(20); ++round) {
    const auto group = kind.make(2);
    on_ranks(group, [&](Communicator& communicator) {
      const auto tensor = numbers(kCount, communicator.rank());
      auto work = communicator.all_reduce(tensor);
      try {
        while (!work->advance())
          // Rank 0 gives up as soon as it needs nothing more of rank 1, which may be reading just now.
          if (communicator.rank() == 0 && (work->waits_for().find("has not copied") != std::string::npos ||
                                           work->waits_for().find("has not read") != std::string::npos))
            communicator.abort(fire());
      } catch (const Aborted&) {
        work.reset();
        std::fill_n(tensor.mutable_data<float>().data(), kCount, 0.0F);
        return;
      }
      if (copy_of(tensor) != expected) throw Error("test", "a sum is wrong");
    });
  }
}

TEST_CASE("a receive from a rank that has left ends with the reason, but gets what was sent before") {
  const auto& kind = GENERATE(from_range(synchronous_group_kinds()));
  INFO(kind.name);
  const auto group = kind.make(2);
  const auto tensor = Tensor::scalar(0.0F);
  bool woken = false;
  const auto first = group[1]->recv(tensor, 0), second = group[1]->recv(tensor, 0, [&] { woken = true; });
  group[0]->send(Tensor::scalar(1.0F), 1);
  woken = false;
  first->wait(patience());
  group[0]->leave(fire());
  CHECK(woken);
  CHECK(tensor.item<float>() == 1.0F);
  for (const auto& failure :
       {failure_of_call([&] { second->advance(); }), failure_of_call([&] { group[1]->recv(tensor, 0)->advance(); })}) {
    REQUIRE(failure);
    CHECK(to_string(*failure) == to_string(*fire()));
  }
}

TEST_CASE("wrong ranks and sizes are refused") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  const auto group = kind.make(2);
  CHECK_THROWS_WITH(group[0]->broadcast(Tensor::scalar(1.0F), 2), Contains("no rank 2 among 2"));
  const Tensor four(Shape{4}, DType::float32), five(Shape{5}, DType::float32);
  CHECK_THROWS_WITH(group[0]->all_gather(four, five), Contains("is not 2 times"));
  CHECK_THROWS_WITH(group[0]->scatter(five, four, 0), Contains("is not 2 times"));
  CHECK_THROWS_WITH(group[0]->scatter({}, four, 2), Contains("no rank 2 among 2"));
}

TEST_CASE("groups without ranks, and ranks without links, are refused") {
  CHECK_THROWS_AS(make_local_group(0), Error);
  CHECK_THROWS_AS(make_linked_communicator(0, {}), Error);
  CHECK_THROWS_WITH(make_linked_communicator(0, {nullptr, nullptr}), Contains("a link to every rank"));
}

TEST_CASE("a rank that goes is named to the others, who need not wait for it") {
  auto group = make_linked_group(3);
  bool woken = false;
  const auto done = group[0]->barrier();
  const auto barrier1 = group[1]->barrier();
  group[2]->barrier()->wait(patience());
  group[2].reset();
  // What it had sent before counts.
  done->wait(patience());
  const auto work = group[0]->all_reduce(numbers(5000, 0), [&] { woken = true; });
  const auto failure = failure_of_call([&] { work->advance(); });
  REQUIRE(failure);
  CHECK(failure->kind == FailureKind::part_died);
  CHECK_THAT(failure->what, Contains("rank 2 is gone"));
  REQUIRE(failure->cause);
  // Rank 1 learns it from rank 0.
  const auto other = failure_of_call([&] { group[1]->barrier(); });
  REQUIRE(other);
  CHECK(to_string(*other) == to_string(*failure));
}

TEST_CASE("a rank that has done its part may close its links while another rank's chunks are still on their way") {
  std::shared_ptr<HeldLink> held;
  auto group = make_linked_group(3, {}, [&](int rank, std::vector<std::shared_ptr<Link>> links) {
    if (rank == 0) links[1] = held = std::make_shared<HeldLink>(links[1]);
    return make_linked_communicator(rank, std::move(links));
  });
  const Tensor sums[] = {Tensor::scalar(1.0F), Tensor::scalar(2.0F), Tensor::scalar(3.0F)};
  const auto zero = group[0]->all_reduce(sums[0]), first = group[1]->all_reduce(sums[1]);
  group[2]->all_reduce(sums[2])->wait(patience());
  group[2].reset();
  CHECK_FALSE(zero->advance());
  CHECK_FALSE(first->advance());
  held->release();
  zero->wait(patience());
  first->wait(patience());
  for (const auto& sum : sums) CHECK(sum.item<float>() == 6.0F);
}

TEST_CASE("links that break or damage a frame fail all ranks, and never give wrong sums") {
  const bool ring = GENERATE(false, true);
  const GroupKind kind{ring ? "ring" : "linked", {}, !ring};
  int failed = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto group =
        make_linked_group(3, LinkFaults::random(seed, 40), ring ? make_ring_communicator : make_linked_communicator);
    std::atomic<int> wrong{0}, aborted{0};
    on_ranks(group, [&](Communicator& communicator) {
      try {
        for (int i = 0; i < 12; ++i) {
          const auto count = i % 2 == 0 ? 10 : 2000;
          const auto tensor = numbers(count, communicator.rank());
          communicator.all_reduce(tensor)->wait(patience());
          if (!is_sum(copy_of(tensor), count, 3, kind)) ++wrong;
        }
      } catch (const Aborted&) {
        ++aborted;
      }
    });
    CHECK(wrong == 0);
    if (aborted == 0) continue;
    ++failed;
    // A rank may have had all it needed before the fault; it goes no further than that.
    for (const auto& communicator : group) CHECK_THROWS_AS(communicator->barrier()->wait(patience()), Aborted);
  }
  CHECK(failed > 100);
}
