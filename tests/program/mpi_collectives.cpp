// mpi_collectives [abort]: every collective over MPI against sums made by hand, by all ranks of an MPI job; then, if
// told so, one that is given up, after which the launcher finds that the job ended badly.

#include <bit>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <vector>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/float_mode.hpp"
#include "troupe/ops/core/half.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/transport/mpi/mpi_communicator.hpp"

using namespace troupe;

namespace {

const auto kLimit = testing::limit_of(std::chrono::seconds(30));

void expect(bool holds, const std::string& what) {
  if (!holds) throw Error("mpi_collectives", what);
}

int number_of(const char* variable) {
  const auto* text = std::getenv(variable);
  expect(text != nullptr, std::string(variable) + " is not set: start this with mpirun");
  return std::atoi(text);
}

/// int32[count]: 1000 rank, 1000 rank + 1, ...
Tensor numbers(std::int64_t count, int rank) {
  const Tensor tensor(Shape{count}, DType::int32);
  const auto values = tensor.mutable_data<std::int32_t>();
  std::iota(values.begin(), values.end(), 1'000 * rank);
  return tensor;
}

void check_sum_of_halves(Communicator& group) {
  const Tensor halves(Shape{17}, DType::bfloat16);
  for (std::size_t i = 0; i < 17; ++i)
    halves.mutable_data<BFloat16>()[i] = BFloat16(0.5F * static_cast<float>(i) + static_cast<float>(group.rank()));
  group.all_reduce(halves)->wait(kLimit);
  const auto ranks = static_cast<float>(group.size());
  for (std::size_t i = 0; i < 17; ++i)
    expect(static_cast<float>(halves.data<BFloat16>()[i]) ==
               ranks * 0.5F * static_cast<float>(i) + ranks * (ranks - 1.0F) / 2.0F,
           "a sum of halves is wrong");
}

/// The program flushes subnormal numbers before it makes the communicator, as one does that is linked with -ffast-math;
/// see main().
void check_sum_of_subnormals(Communicator& group) {
  constexpr std::uint32_t kSmallest = 3;
  const Tensor tensor(Shape{17}, DType::float32);
  for (auto& element : tensor.mutable_data<float>()) element = std::bit_cast<float>(kSmallest);
  group.all_reduce(tensor)->wait(kLimit);
  for (const auto element : tensor.data<float>())
    expect(std::bit_cast<std::uint32_t>(element) == kSmallest * static_cast<std::uint32_t>(group.size()),
           "a sum of subnormal numbers is wrong");
}

void check_sums(Communicator& group) {
  const int ranks = group.size();
  for (const std::int64_t count : {0, 1, 17, 5'000'000}) {
    const auto tensor = numbers(count, group.rank());
    group.all_reduce(tensor)->wait(kLimit);
    for (std::int64_t i = 0; i < count; ++i)
      expect(tensor.data<std::int32_t>()[i] == 1'000 * ranks * (ranks - 1) / 2 + ranks * i, "a sum is wrong");
  }
  check_sum_of_halves(group);
  check_sum_of_subnormals(group);
  const auto part = numbers(3, 0);
  group.reduce_scatter(numbers(3 * ranks, group.rank()), part)->wait(kLimit);
  for (int i = 0; i < 3; ++i)
    expect(part.data<std::int32_t>()[i] == 1'000 * ranks * (ranks - 1) / 2 + ranks * (3 * group.rank() + i),
           "a scattered sum is wrong");
}

void check_copies(Communicator& group) {
  const auto copy = numbers(9, group.rank());
  group.broadcast(copy, group.size() - 1)->wait(kLimit);
  expect(copy.data<std::int32_t>()[8] == 1'000 * (group.size() - 1) + 8, "a broadcast is wrong");
  const Tensor all(Shape{2 * group.size()}, DType::int32);
  group.all_gather(numbers(2, group.rank()), all)->wait(kLimit);
  for (int rank = 0; rank < group.size(); ++rank)
    expect(all.data<std::int32_t>()[2 * rank + 1] == 1'000 * rank + 1, "a gathered part is wrong");
  const auto part = numbers(3, 0);
  const int root = group.size() - 1;
  group.scatter(group.rank() == root ? numbers(3 * group.size(), root) : Tensor(), part, root)->wait(kLimit);
  for (int i = 0; i < 3; ++i)
    expect(part.data<std::int32_t>()[i] == 1'000 * root + 3 * group.rank() + i, "a scattered part is wrong");
  group.barrier()->wait(kLimit);
}

/// Round the ring of ranks, two tensors at a time.
void check_messages(Communicator& group) {
  const int next = (group.rank() + 1) % group.size(), previous = (group.rank() + group.size() - 1) % group.size();
  const Tensor first(Shape{4}, DType::int32), second(Shape{5}, DType::int32);
  auto receive_first = group.recv(first, previous);
  auto receive_second = group.recv(second, previous);
  group.send(numbers(4, group.rank()), next)->wait(kLimit);
  group.send(numbers(5, group.rank()), next)->wait(kLimit);
  receive_second->wait(kLimit);
  receive_first->wait(kLimit);
  expect(first.data<std::int32_t>()[3] == 1'000 * previous + 3, "the first message is wrong");
  expect(second.data<std::int32_t>()[4] == 1'000 * previous + 4, "the second message is wrong");
}

void check_many(Communicator& group) {
  std::vector<Tensor> tensors;
  std::vector<std::shared_ptr<Work>> works;
  for (int i = 0; i < 50; ++i) {
    tensors.push_back(numbers(100 * i, group.rank()));
    works.push_back(group.all_reduce(tensors.back()));
  }
  for (auto work = works.rbegin(); work != works.rend(); ++work) (*work)->wait(kLimit);
  for (int i = 1; i < 50; ++i)
    expect(tensors[static_cast<std::size_t>(i)].data<std::int32_t>()[0] == 500 * group.size() * (group.size() - 1),
           "one of many sums is wrong");
}

/// A sum that was given up ends with the reason, and leaves the tensor to the caller.
void check_abort(Communicator& group) {
  const auto tensor = numbers(100'000, group.rank());
  const auto work = group.all_reduce(tensor);
  group.abort(std::make_shared<Failure>(Failure{.what = "stopped"}));
  try {
    work->wait(kLimit);
  } catch (const Aborted& aborted) {
    expect(tensor.data<std::int32_t>()[1] == 1'000 * group.rank() + 1, "an aborted sum was written");
    expect(aborted.failure()->what == "stopped", "the reason of an abort is lost");
    return;
  }
  throw Error("mpi_collectives", "an aborted collective was completed");
}

void expect_refused() {
  std::string refusal;
  try {
    make_mpi_communicator("other", {0}, 0, 1'000);
  } catch (const Error& error) {
    refusal = error.what();
  }
  expect(refusal.find("of 1000, but in the MPI job rank") != std::string::npos, "a wrong rank is not refused");
}

}  // namespace

int main(int argc, char**) {
  try {
    const int rank = number_of("OMPI_COMM_WORLD_RANK"), size = number_of("OMPI_COMM_WORLD_SIZE");
    std::vector<int> processes(static_cast<std::size_t>(size));
    std::iota(processes.begin(), processes.end(), 0);
#ifdef __x86_64__
    constexpr std::uint64_t kFlushes = 0x8040;
    set_float_mode(kDefaultFloatMode | kFlushes);
#endif
    expect_refused();
    const auto group = make_mpi_communicator("all", processes, rank, size);
    check_sums(*group);
    check_copies(*group);
    check_messages(*group);
    check_many(*group);
    // Only the others' processes take part.
    if (rank > 0) {
      const auto others = make_mpi_communicator("others", {processes.begin() + 1, processes.end()}, rank, size);
      check_sums(*others);
    }
    group->barrier()->wait(kLimit);
    if (rank == 0) std::cout << "mpi_collectives: " << size << " ranks, all correct" << std::endl;
    if (argc > 1) {
      check_abort(*group);
      if (rank == 0) std::cout << "mpi_collectives: aborted as it should" << std::endl;
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
