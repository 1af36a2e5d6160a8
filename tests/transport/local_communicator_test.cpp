#include <functional>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/transport/communicator.hpp"

using namespace troupe;

namespace {

constexpr std::chrono::milliseconds kLimit{20'000};

/// Runs a function for every rank on a thread of its own and passes on the first exception.
void on_ranks(int ranks, const std::function<void(Communicator&)>& function) {
  const auto group = make_local_group(ranks);
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        function(*group[rank]);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

Tensor numbers(std::int64_t count, int rank) {
  Tensor tensor(Shape{count}, DType::float32);
  for (std::int64_t i = 0; i < count; ++i)
    tensor.mutable_data<float>()[i] =
        uniform(3, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(i)) - 0.5F;
  return tensor;
}

std::vector<float> sum_in_rank_order(std::int64_t count, int ranks) {
  const auto start = numbers(count, 0);
  std::vector<float> sum(start.data<float>().begin(), start.data<float>().end());
  for (int rank = 1; rank < ranks; ++rank) {
    const auto other = numbers(count, rank);
    for (std::int64_t i = 0; i < count; ++i) sum[i] += other.data<float>()[i];
  }
  return sum;
}

std::vector<float> copy_of(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

}  // namespace

TEST_CASE("all_reduce sums in rank order, to the bit, for any size and number of ranks") {
  for (int ranks : {1, 2, 3, 4, 7}) {
    for (std::int64_t count : {0, 1, 2, 15, 16, 17, 1000, 5003}) {
      std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
      on_ranks(ranks, [&](Communicator& communicator) {
        const auto tensor = numbers(count, communicator.rank());
        communicator.all_reduce(tensor)->wait(kLimit);
        results[communicator.rank()] = copy_of(tensor);
      });
      for (const auto& result : results) CHECK(result == sum_in_rank_order(count, ranks));
    }
  }
}

TEST_CASE("many collectives may be on their way at once") {
  constexpr int kRanks = 3, kRounds = 20;
  std::vector<std::vector<float>> results(kRanks);
  on_ranks(kRanks, [&](Communicator& communicator) {
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
  on_ranks(2, [](Communicator& communicator) {
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
  CHECK_THROWS_WITH(on_ranks(2, bytes), Contains("no sum of uint8"));
}

TEST_CASE("broadcast, all_gather and reduce_scatter") {
  constexpr int kRanks = 3;
  std::vector<std::vector<float>> sent(kRanks), gathered(kRanks), scattered(kRanks);
  on_ranks(kRanks, [&](Communicator& communicator) {
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
  std::atomic<int> before{0};
  on_ranks(4, [&](Communicator& communicator) {
    ++before;
    communicator.barrier()->wait(kLimit);
    if (before != 4) throw Error("test", "left too early");
  });
  CHECK(before == 4);
}

TEST_CASE("tensors sent from rank to rank arrive in order") {
  on_ranks(2, [](Communicator& communicator) {
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
  const auto group = make_local_group(2);
  group[0]->send(Tensor::scalar(1.0F), 1);
  CHECK_THROWS_WITH(group[1]->recv(Tensor(Shape{2}, DType::float32), 0)->wait(kLimit),
                    Contains("rank 0 sent float32[]"));
}

TEST_CASE("ranks that call different collectives both learn who did what") {
  const auto group = make_local_group(2);
  const auto first = group[0]->all_reduce(Tensor(Shape{4}, DType::float32));
  CHECK_THROWS_WITH(group[1]->all_reduce(Tensor(Shape{5}, DType::float32)),
                    Contains("all_reduce of 4 float32 on rank 0 but all_reduce of 5 float32 on rank 1"));
  CHECK_THROWS_WITH(first->advance(), Contains("rank 0") && Contains("rank 1"));
  CHECK_THROWS_AS(group[0]->barrier(), Error);
}

TEST_CASE("a rank that does not come is named when the time is over") {
  const auto group = make_local_group(3);
  const auto tensor = Tensor::scalar(1.0F);
  const auto work = group[0]->all_reduce(tensor);
  group[2]->all_reduce(Tensor::scalar(1.0F));
  CHECK_THROWS_WITH(work->wait(std::chrono::milliseconds(5)), Contains("all_reduce of 1 float32: rank 1 has not come"));
}

TEST_CASE("progress is told to the others, never to oneself") {
  const auto group = make_local_group(2);
  int told_first = 0, told_second = 0;
  const auto first = group[0]->all_reduce(Tensor::scalar(1.0F), [&] { ++told_first; });
  CHECK_FALSE(first->advance());
  CHECK(told_first == 0);
  const auto second = group[1]->all_reduce(Tensor::scalar(1.0F), [&] { ++told_second; });
  CHECK(told_first == 1);
  CHECK_FALSE(second->advance());
  CHECK_FALSE(first->advance());
  CHECK(told_second == 1);
  CHECK(second->advance());
  CHECK(first->advance());
}

TEST_CASE("abort wakes and fails every rank") {
  const auto group = make_local_group(2);
  bool woken = false;
  const auto work = group[0]->barrier([&] { woken = true; });
  group[1]->abort("the house is on fire");
  CHECK(woken);
  CHECK_THROWS_WITH(work->advance(), Contains("the house is on fire"));
  CHECK_THROWS_WITH(group[0]->all_reduce(Tensor::scalar(1.0F)), Contains("fire"));
}

TEST_CASE("a rank whose part fails fails the others too") {
  const auto group = make_local_group(2);
  bool woken = false;
  const auto first = group[0]->all_reduce(Tensor(Shape{4}, DType::uint8), [&] { woken = true; });
  const auto second = group[1]->all_reduce(Tensor(Shape{4}, DType::uint8));
  woken = false;
  CHECK_THROWS_WITH(second->advance(), Contains("no sum of uint8"));
  CHECK(woken);
  CHECK_THROWS_WITH(first->advance(), Contains("no sum of uint8"));
}

TEST_CASE("wrong ranks and sizes are refused") {
  CHECK_THROWS_AS(make_local_group(0), Error);
  const auto group = make_local_group(2);
  CHECK_THROWS_WITH(group[0]->broadcast(Tensor::scalar(1.0F), 2), Contains("no rank 2 among 2"));
  const Tensor four(Shape{4}, DType::float32), five(Shape{5}, DType::float32);
  CHECK_THROWS_WITH(group[0]->all_gather(four, five), Contains("is not 2 times"));
}
