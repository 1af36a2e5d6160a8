#include "troupe/transport/communicator.hpp"

#include <atomic>
#include <cmath>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/half.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/transport/groups.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("all_reduce sums in rank order, to the bit, or in an order of its own that is the same on all ranks") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  for (int ranks : {1, 2, 3, 4, 7}) {
    for (std::int64_t count : {0, 1, 2, 15, 16, 17, 1000, 5003}) {
      std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
      on_ranks(kind.make(ranks), [&](Communicator& communicator) {
        const auto tensor = numbers(count, communicator.rank());
        communicator.all_reduce(tensor)->wait(patience());
        results[communicator.rank()] = copy_of(tensor);
      });
      for (const auto& result : results) {
        CHECK(is_sum(result, count, ranks, kind));
        CHECK(result == results.front());
      }
    }
  }
}

TEST_CASE("16-bit numbers are summed, rounded after every addition") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  constexpr std::int64_t kCount = 5003;
  constexpr int kRanks = 3;
  on_ranks(kind.make(kRanks), [&](Communicator& communicator) {
    const auto tensor_of = [](int rank) {
      Tensor tensor({kCount}, DType::bfloat16);
      const auto wide = numbers(kCount, rank);
      for (std::size_t i = 0; i < kCount; ++i) tensor.mutable_data<BFloat16>()[i] = BFloat16(wide.data<float>()[i]);
      return tensor;
    };
    const auto tensor = tensor_of(communicator.rank());
    communicator.all_reduce(tensor)->wait(patience());
    const auto first = tensor_of(0), second = tensor_of(1), third = tensor_of(2);
    for (std::size_t i = 0; i < kCount; ++i) {
      auto sum = first.data<BFloat16>()[i];
      sum += second.data<BFloat16>()[i];
      sum += third.data<BFloat16>()[i];
      const auto distance = static_cast<float>(tensor.data<BFloat16>()[i]) - static_cast<float>(sum);
      if (std::abs(distance) > (kind.canonical ? 0.0F : 0.02F)) throw Error("test", "a sum is wrong");
    }
  });
}

TEST_CASE("sums of several chunks") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  // With a sanitizer one of those that sum in rank order, and one of the others.
  if (has_sanitizer() && kind.name != "linked" && kind.name != "ring") return;
  // Slices of 2.5 chunks, the last of which is short.
  constexpr std::int64_t kCount = 3 * 2'621'440 + 5;
  constexpr int kRanks = 3;
  on_ranks(kind.make(kRanks), [&](Communicator& communicator) {
    const auto tensor = numbers(kCount, communicator.rank());
    communicator.all_reduce(tensor)->wait(patience());
    if (!is_sum(copy_of(tensor), kCount, kRanks, kind)) throw Error("test", "a sum is wrong");
  });
}

TEST_CASE("many collectives may be on their way at once") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  constexpr int kRanks = 3, kRounds = 20;
  std::vector<std::vector<float>> results(kRanks);
  on_ranks(kind.make(kRanks), [&](Communicator& communicator) {
    std::vector<Tensor> tensors;
    std::vector<std::shared_ptr<Work>> works;
    for (int i = 0; i < kRounds; ++i) {
      tensors.push_back(Tensor::scalar(static_cast<float>(i * (communicator.rank() + 1))));
      works.push_back(communicator.all_reduce(tensors.back()));
    }
    for (auto work = works.rbegin(); work != works.rend(); ++work) (*work)->wait(patience());
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
    communicator.all_reduce(small)->wait(patience());
    communicator.all_reduce(large)->wait(patience());
    if (small.item<std::int32_t>() != 3 || large.item<std::int64_t>() != std::int64_t{1} << 41)
      throw Error("test", "wrong sum");
  });
  const auto bytes = [](Communicator& communicator) {
    communicator.all_reduce(Tensor(Shape{4}, DType::uint8))->wait(patience());
  };
  CHECK_THROWS_WITH(on_ranks(kind.make(2), bytes), Contains("no sum of uint8"));
}

TEST_CASE("broadcast, all_gather, reduce_scatter and scatter") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  constexpr int kRanks = 3;
  std::vector<std::vector<float>> sent(kRanks), gathered(kRanks), scattered(kRanks), parts(kRanks);
  on_ranks(kind.make(kRanks), [&](Communicator& communicator) {
    const auto rank = communicator.rank();
    const auto copy = numbers(5, rank);
    communicator.broadcast(copy, 1)->wait(patience());
    sent[rank] = copy_of(copy);
    const Tensor all(Shape{15}, DType::float32), part(Shape{5}, DType::float32);
    communicator.all_gather(numbers(5, rank), all)->wait(patience());
    gathered[rank] = copy_of(all);
    communicator.reduce_scatter(numbers(15, rank), part)->wait(patience());
    scattered[rank] = copy_of(part);
    communicator.scatter(rank == 2 ? numbers(15, 2) : Tensor(), part, 2)->wait(patience());
    parts[rank] = copy_of(part);
  });
  const auto sum = sum_in_rank_order(15, kRanks), whole = copy_of(numbers(15, 2));
  for (int rank = 0; rank < kRanks; ++rank) {
    CHECK(sent[rank] == copy_of(numbers(5, 1)));
    CHECK(scattered[rank] == std::vector<float>(sum.begin() + 5 * rank, sum.begin() + 5 * rank + 5));
    CHECK(parts[rank] == std::vector<float>(whole.begin() + 5 * rank, whole.begin() + 5 * rank + 5));
    for (int other = 0; other < kRanks; ++other)
      CHECK(std::vector<float>(gathered[rank].begin() + 5 * other, gathered[rank].begin() + 5 * other + 5) ==
            copy_of(numbers(5, other)));
  }
}

TEST_CASE("every root scatters parts of any size") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  for (int ranks : {1, 2, 4})
    for (std::int64_t count : {0, 1, 17, 20'000, 1'100'000}) {
      // Parts of several chunks take long.
      if (count > 20'000 && (has_sanitizer() || ranks != 2)) continue;
      on_ranks(kind.make(ranks), [&](Communicator& communicator) {
        for (int root = 0; root < ranks; ++root) {
          const bool is_root = communicator.rank() == root;
          const Tensor part(Shape{count}, DType::float32);
          communicator.scatter(is_root ? numbers(ranks * count, root) : Tensor(), part, root)->wait(patience());
          const auto whole = copy_of(numbers(ranks * count, root));
          const auto first = whole.begin() + communicator.rank() * count;
          if (copy_of(part) != std::vector<float>(first, first + count)) throw Error("test", "a part is wrong");
        }
      });
    }
}

TEST_CASE("no rank leaves a barrier before all ranks have come") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  std::atomic<int> before{0};
  on_ranks(kind.make(4), [&](Communicator& communicator) {
    ++before;
    communicator.barrier()->wait(patience());
    if (before != 4) throw Error("test", "left too early");
  });
  CHECK(before == 4);
}

TEST_CASE("tensors sent from rank to rank arrive in order") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  on_ranks(kind.make(2), [](Communicator& communicator) {
    if (communicator.rank() == 0) {
      communicator.send(Tensor::scalar(1.0F), 1)->wait(patience());
      communicator.send(Tensor::scalar(2.0F), 1)->wait(patience());
      return;
    }
    const auto first = Tensor::scalar(0.0F), second = Tensor::scalar(0.0F);
    communicator.recv(first, 0)->wait(patience());
    communicator.recv(second, 0)->wait(patience());
    if (first.item<float>() != 1.0F || second.item<float>() != 2.0F) throw Error("test", "out of order");
  });
  const auto group = kind.make(2);
  group[0]->send(Tensor::scalar(1.0F), 1);
  CHECK_THROWS_WITH(group[1]->recv(Tensor(Shape{2}, DType::float32), 0)->wait(patience()),
                    Contains("rank 0 sent float32[]"));
}

TEST_CASE("receives that are out at the same time get the tensors in the order in which they were begun") {
  const auto& kind = GENERATE(from_range(synchronous_group_kinds()));
  INFO(kind.name);
  const auto group = kind.make(2);
  const auto received = std::vector{Tensor::scalar(0.0F), Tensor::scalar(0.0F), Tensor::scalar(0.0F)};
  std::vector<int> told(3);
  std::vector<std::shared_ptr<Work>> works;
  for (std::size_t i = 0; i < 3; ++i) works.push_back(group[1]->recv(received[i], 0, [&told, i] { ++told[i]; }));
  group[0]->send(Tensor::scalar(1.0F), 1);
  CHECK(told[0] > 0);
  CHECK_FALSE(works[2]->advance());
  works[1].reset();
  for (const float value : {2.0F, 3.0F}) group[0]->send(Tensor::scalar(value), 1);
  CHECK(told[2] > 0);
  works[2]->wait(patience());
  works[0]->wait(patience());
  CHECK(received[0].item<float>() == 1.0F);
  CHECK(received[1].item<float>() == 0.0F);
  CHECK(received[2].item<float>() == 3.0F);
}

TEST_CASE("a rank's callback is called for the progress of others, not for its own") {
  const auto& kind = GENERATE(from_range(synchronous_group_kinds()));
  INFO(kind.name);
  for (const std::int64_t count : {1, 5000}) {
    const auto group = kind.make(2);
    int told_first = 0, told_second = 0;
    const auto first = group[0]->all_reduce(numbers(count, 0), [&] { ++told_first; });
    CHECK_FALSE(first->advance());
    CHECK(told_first == 0);
    const auto second = group[1]->all_reduce(numbers(count, 1), [&] { ++told_second; });
    CHECK(told_first == 1);
    // A rank that is notified and advances completes everything in the end.
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

TEST_CASE("works of one rank advance on several threads") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  INFO(kind.name);
  constexpr int kRanks = 3, kCollectives = 40;
  const auto group = kind.make(kRanks);
  std::vector<std::vector<float>> results(kRanks * kCollectives);
  // Begun by one thread, as a conductor does, and brought to their end by another for each rank.
  std::vector<std::vector<std::shared_ptr<Work>>> works(kRanks);
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
        if (!eventually([&] { return begun[rank].load() > i; })) return;
        works[rank][i]->wait(patience());
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
    for (int i = 0; i < kCollectives; ++i) CHECK(is_sum(results[rank * kCollectives + i], i * 100, kRanks, kind));
}
