#include "troupe/transport/communicator.hpp"

#include <atomic>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/transport/groups.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::chrono::milliseconds kLimit{20'000};

FailurePtr fire() {
  return std::make_shared<Failure>(
      Failure{.rank = 3, .replica = 2, .actor = "matmul@2", .op = "matmul", .step = 7, .what = "the house is on fire"});
}

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

TEST_CASE("all_reduce sums in rank order, to the bit, for any size and number of ranks") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  for (int ranks : {1, 2, 3, 4, 7}) {
    for (std::int64_t count : {0, 1, 2, 15, 16, 17, 1000, 5003}) {
      std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
      on_ranks(kind.make(ranks), [&](Communicator& communicator) {
        const auto tensor = numbers(count, communicator.rank());
        communicator.all_reduce(tensor)->wait(kLimit);
        results[communicator.rank()] = copy_of(tensor);
      });
      for (const auto& result : results) CHECK(result == sum_in_rank_order(count, ranks));
    }
  }
}

TEST_CASE("many collectives may be on their way at once") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  constexpr int kRanks = 3, kRounds = 20;
  std::vector<std::vector<float>> results(kRanks);
  on_ranks(kind.make(kRanks), [&](Communicator& communicator) {
    std::vector<Tensor> tensors;
    std::vector<std::unique_ptr<Work>> works;
    for (int i = 0; i < kRounds; ++i) {
      tensors.push_back(Tensor::scalar(static_cast<float>(i * (communicator.rank() + 1))));
      works.push_back(communicator.all_reduce(tensors.back()));
    }
    for (auto work = works.rbegin(); work != works.rend(); ++work) (*work)->wait(kLimit);
    for (const auto& tensor : tensors) results[communicator.rank()].push_back(tensor.item<float>());
  });
  for (const auto& result : results)
    for (int i = 0; i < kRounds; ++i) CHECK(result[i] == static_cast<float>(i * 6));
}

TEST_CASE("integers are summed, what cannot be summed is refused") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  on_ranks(kind.make(2), [](Communicator& communicator) {
    const auto small = Tensor::scalar<std::int32_t>(communicator.rank() + 1);
    const auto large = Tensor::scalar<std::int64_t>(std::int64_t{1} << 40);
    communicator.all_reduce(small)->wait(kLimit);
    communicator.all_reduce(large)->wait(kLimit);
    if (small.item<std::int32_t>() != 3 || large.item<std::int64_t>() != std::int64_t{1} << 41)
      throw Error("test", "wrong sum");
  });
  const auto bytes = [](Communicator& communicator) {
    communicator.all_reduce(Tensor(Shape{4}, DType::uint8))->wait(kLimit);
  };
  CHECK_THROWS_WITH(on_ranks(kind.make(2), bytes), Contains("no sum of uint8"));
}

TEST_CASE("broadcast, all_gather and reduce_scatter") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  constexpr int kRanks = 3;
  std::vector<std::vector<float>> sent(kRanks), gathered(kRanks), scattered(kRanks);
  on_ranks(kind.make(kRanks), [&](Communicator& communicator) {
    const auto rank = communicator.rank();
    const auto copy = numbers(5, rank);
    communicator.broadcast(copy, 1)->wait(kLimit);
    sent[rank] = copy_of(copy);
    const Tensor all(Shape{15}, DType::float32), part(Shape{5}, DType::float32);
    communicator.all_gather(numbers(5, rank), all)->wait(kLimit);
    gathered[rank] = copy_of(all);
    communicator.reduce_scatter(numbers(15, rank), part)->wait(kLimit);
    scattered[rank] = copy_of(part);
  });
  const auto sum = sum_in_rank_order(15, kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    CHECK(sent[rank] == copy_of(numbers(5, 1)));
    CHECK(scattered[rank] == std::vector<float>(sum.begin() + 5 * rank, sum.begin() + 5 * rank + 5));
    for (int other = 0; other < kRanks; ++other)
      CHECK(std::vector<float>(gathered[rank].begin() + 5 * other, gathered[rank].begin() + 5 * other + 5) ==
            copy_of(numbers(5, other)));
  }
}

TEST_CASE("nobody leaves a barrier before all have come") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  std::atomic<int> before{0};
  on_ranks(kind.make(4), [&](Communicator& communicator) {
    ++before;
    communicator.barrier()->wait(kLimit);
    if (before != 4) throw Error("test", "left too early");
  });
  CHECK(before == 4);
}

TEST_CASE("tensors sent from rank to rank arrive in order") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  on_ranks(kind.make(2), [](Communicator& communicator) {
    if (communicator.rank() == 0) {
      communicator.send(Tensor::scalar(1.0F), 1)->wait(kLimit);
      communicator.send(Tensor::scalar(2.0F), 1)->wait(kLimit);
      return;
    }
    const auto first = Tensor::scalar(0.0F), second = Tensor::scalar(0.0F);
    communicator.recv(first, 0)->wait(kLimit);
    communicator.recv(second, 0)->wait(kLimit);
    if (first.item<float>() != 1.0F || second.item<float>() != 2.0F) throw Error("test", "out of order");
  });
  const auto group = kind.make(2);
  group[0]->send(Tensor::scalar(1.0F), 1);
  CHECK_THROWS_WITH(group[1]->recv(Tensor(Shape{2}, DType::float32), 0)->wait(kLimit),
                    Contains("rank 0 sent float32[]"));
}

TEST_CASE("ranks that call different collectives both learn who did what") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  const auto group = kind.make(2);
  const auto first = group[0]->all_reduce(Tensor(Shape{4}, DType::float32));
  CHECK_THROWS_WITH(group[1]->all_reduce(Tensor(Shape{5}, DType::float32)),
                    Contains("all_reduce of 4 float32 on rank 0 but all_reduce of 5 float32 on rank 1"));
  CHECK_THROWS_WITH(first->advance(), Contains("rank 0") && Contains("rank 1"));
  CHECK_THROWS_AS(group[0]->barrier(), Error);
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

TEST_CASE("a rank's callback is called for the progress of others, not for its own") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  for (const std::int64_t count : {1, 5000}) {
    const auto group = kind.make(2);
    int told_first = 0, told_second = 0;
    const auto first = group[0]->all_reduce(numbers(count, 0), [&] { ++told_first; });
    CHECK_FALSE(first->advance());
    CHECK(told_first == 0);
    const auto second = group[1]->all_reduce(numbers(count, 1), [&] { ++told_second; });
    CHECK(told_first == 1);
    // Whoever was told and advances gets everything done in the end.
    bool first_done = false, second_done = false;
    for (int told = 0; told < told_first + told_second;) {
      told = told_first + told_second;
      const auto told_before = told_second;
      second_done = second->advance();
      CHECK(told_second == told_before);
      first_done = first->advance();
    }
    CHECK(first_done);
    CHECK((second_done || second->advance()));
  }
}

TEST_CASE("abort wakes and fails every rank, now and from now on, with the same root cause") {
  const auto& kind = GENERATE(from_range(group_kinds()));
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
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  const auto group = kind.make(2);
  bool woken = false;
  const auto first = group[0]->all_reduce(Tensor(Shape{4}, DType::uint8), [&] { woken = true; });
  const auto second = group[1]->all_reduce(Tensor(Shape{4}, DType::uint8));
  woken = false;
  CHECK_THROWS_WITH(second->advance(), Contains("no sum of uint8"));
  CHECK(woken);
  CHECK_THROWS_WITH(first->advance(), Contains("no sum of uint8"));
}

TEST_CASE("wrong ranks and sizes are refused") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  const auto group = kind.make(2);
  CHECK_THROWS_WITH(group[0]->broadcast(Tensor::scalar(1.0F), 2), Contains("no rank 2 among 2"));
  const Tensor four(Shape{4}, DType::float32), five(Shape{5}, DType::float32);
  CHECK_THROWS_WITH(group[0]->all_gather(four, five), Contains("is not 2 times"));
}

TEST_CASE("groups without ranks, and ranks without links, are refused") {
  CHECK_THROWS_AS(make_local_group(0), Error);
  CHECK_THROWS_AS(make_linked_communicator(0, {}), Error);
  CHECK_THROWS_WITH(make_linked_communicator(0, {nullptr, nullptr}), Contains("a link to every rank"));
}

TEST_CASE("works of one rank advance on several threads") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  constexpr int kRanks = 3, kCollectives = 40;
  const auto group = kind.make(kRanks);
  std::vector<std::vector<float>> results(kRanks * kCollectives);
  // Begun by one thread, as a conductor does, and brought to their end by another for each rank.
  std::vector<std::vector<std::unique_ptr<Work>>> works(kRanks);
  std::vector<std::atomic<int>> begun(kRanks);
  std::vector<std::vector<Tensor>> tensors(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    works[rank].resize(kCollectives);
    for (int i = 0; i < kCollectives; ++i) tensors[rank].push_back(numbers(i * 100, rank));
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      for (int i = 0; i < kCollectives; ++i) {
        while (begun[rank].load() <= i) std::this_thread::yield();
        works[rank][i]->wait(kLimit);
        results[rank * kCollectives + i] = copy_of(tensors[rank][i]);
      }
    });
  for (int i = 0; i < kCollectives; ++i)
    for (int rank = 0; rank < kRanks; ++rank) {
      works[rank][i] = group[rank]->all_reduce(tensors[rank][i]);
      ++begun[rank];
    }
  for (auto& thread : threads) thread.join();
  for (int rank = 0; rank < kRanks; ++rank)
    for (int i = 0; i < kCollectives; ++i)
      CHECK(results[rank * kCollectives + i] == sum_in_rank_order(i * 100, kRanks));
}

TEST_CASE("a rank that goes is named to the others, who need not wait for it") {
  auto group = make_linked_group(3);
  bool woken = false;
  const auto done = group[0]->barrier();
  const auto barrier1 = group[1]->barrier();
  group[2]->barrier()->wait(kLimit);
  group[2].reset();
  // What it had sent before counts.
  done->wait(kLimit);
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

TEST_CASE("links that break or damage a frame fail all ranks, and never give wrong sums") {
  int failed = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto group = make_linked_group(3, LinkFaults::random(seed, 40));
    std::atomic<int> wrong{0}, aborted{0};
    on_ranks(group, [&](Communicator& communicator) {
      try {
        for (int i = 0; i < 12; ++i) {
          const auto count = i % 2 == 0 ? 10 : 2000;
          const auto tensor = numbers(count, communicator.rank());
          communicator.all_reduce(tensor)->wait(kLimit);
          if (copy_of(tensor) != sum_in_rank_order(count, 3)) ++wrong;
        }
      } catch (const Aborted&) {
        ++aborted;
      }
    });
    CHECK(wrong == 0);
    if (aborted == 0) continue;
    ++failed;
    // A rank may have had all it needed before the fault; it goes no further than that.
    for (const auto& communicator : group) CHECK_THROWS_AS(communicator->barrier()->wait(kLimit), Aborted);
  }
  CHECK(failed > 100);
}
