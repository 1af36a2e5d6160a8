// The collectives of a group that one rank leaves.

#include <utility>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/transport/groups.hpp"
#include "troupe/transport/communicator.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

FailurePtr bad_row() {
  return std::make_shared<Failure>(Failure{.actor = "loader@0", .op = "loader", .step = 2, .what = "row 40 is bad"});
}

/// Begins an all_reduce of `tensor` and waits for it. Returns the failure with which it ends, or null.
FailurePtr failure_of_sum(Communicator& communicator, const Tensor& tensor) {
  try {
    communicator.all_reduce(tensor)->wait(patience());
  } catch (const Aborted& aborted) {
    return aborted.failure();
  }
  return nullptr;
}

bool is_bad_row(const FailurePtr& failure) {
  return failure && to_string(*failure) == to_string(*bad_row());
}

}  // namespace

TEST_CASE("collectives that a rank has begun before it leaves complete on all ranks, and later ones fail") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  const int ranks = GENERATE(2, 3, 4);
  const int leaver = GENERATE(0, 1);
  // The tensors of 100 elements are sent whole, of 5,003 elements in slices, and of 100,003 elements once all ranks are
  // ready.
  const std::int64_t count = GENERATE(100, 5'003, 100'003);
  INFO(kind.name << ", " << ranks << " ranks, rank " << leaver << " leaves, " << count << " elements");
  const auto group = kind.make(ranks);
  std::vector<Tensor> first, second;
  std::vector<std::shared_ptr<Work>> begun(2 * ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    first.push_back(numbers(count, rank));
    second.push_back(numbers(count, rank));
  }
  const auto begin = [&](int rank) {
    begun[2 * rank] = group[rank]->all_reduce(first[rank]);
    begun[2 * rank + 1] = group[rank]->all_reduce(second[rank]);
  };
  // Ranks below the leaver have begun the collectives when it leaves, and those above it have not.
  for (int rank = 0; rank <= leaver; ++rank) begin(rank);
  group[leaver]->leave(bad_row());
  group[leaver]->leave(std::make_shared<Failure>(Failure{.what = "something else"}));
  for (int rank = leaver + 1; rank < ranks; ++rank) begin(rank);
  std::vector<FailurePtr> third(ranks), fourth(ranks);
  on_ranks(group, [&](Communicator& communicator) {
    const int rank = communicator.rank();
    for (auto& work : {&begun[2 * rank], &begun[2 * rank + 1]}) (*work)->wait(patience());
    third[rank] = failure_of_sum(communicator, numbers(count, rank));
    fourth[rank] = failure_of_sum(communicator, numbers(count, rank));
  });
  for (int rank = 0; rank < ranks; ++rank) {
    INFO("rank " << rank);
    CHECK(is_sum(copy_of(first[rank]), count, ranks, kind));
    CHECK(is_sum(copy_of(second[rank]), count, ranks, kind));
    CHECK(is_bad_row(third[rank]));
    CHECK(is_bad_row(fourth[rank]));
  }
}

TEST_CASE("the failure of a rank that leaves wakes the ranks that wait for it in a collective") {
  const auto& kind = GENERATE(from_range(group_kinds()));
  const int ranks = GENERATE(2, 3, 4);
  INFO(kind.name << ", " << ranks << " ranks");
  const auto group = kind.make(ranks);
  std::vector<std::shared_ptr<Work>> waiting;
  for (int rank = 0; rank < ranks - 1; ++rank) waiting.push_back(group[rank]->all_reduce(numbers(5'003, rank)));
  group[ranks - 1]->leave(bad_row());
  std::vector<FailurePtr> failures(ranks);
  on_ranks(group, [&](Communicator& communicator) {
    const int rank = communicator.rank();
    try {
      if (rank < ranks - 1) std::exchange(waiting[rank], nullptr)->wait(patience());
    } catch (const Aborted& aborted) {
      failures[rank] = aborted.failure();
    }
  });
  for (int rank = 0; rank < ranks - 1; ++rank) CHECK(is_bad_row(failures[rank]));
}
