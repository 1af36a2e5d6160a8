#include "troupe/actors/collective/collective_tasks.hpp"

#include <new>

#include "troupe/ops/core/backend.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/forwarding_communicator.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Has no memory to begin anything.
class Exhausted final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  std::shared_ptr<Work> all_reduce(const Tensor&, OnProgress) override { throw std::bad_alloc(); }
};

/// Two ranks of a group that one conductor begins for.
struct TwoRanks {
  using Kind = BeginCollectiveTask::Kind;
  explicit TwoRanks(const std::shared_ptr<Communicator>& first, const std::shared_ptr<Communicator>& second,
                    Kind kind = Kind::all_reduce)
      : conductor(kind, {{first, begun[0]}, {second, begun[1]}}, {.actor = "conductor"}) {}

  Firing firing(std::span<const Tensor> inputs, std::span<const Tensor> outputs = {}) const {
    return {inputs, outputs, 6, 0, {*stream, nullptr}};
  }
  FailurePtr failure_of_begin(std::span<const Tensor> inputs) {
    try {
      conductor.fire(firing(inputs));
    } catch (const Aborted& aborted) {
      return aborted.failure();
    }
    return nullptr;
  }

  std::vector<std::shared_ptr<BegunCollective>> begun{std::make_shared<BegunCollective>(),
                                                      std::make_shared<BegunCollective>()};
  BeginCollectiveTask conductor;
  std::vector<CollectiveTask> ranks{{begun[0], {}}, {begun[1], {}}};
  std::unique_ptr<Stream> stream = backend_of(DeviceType::cpu).make_stream({});
};

}  // namespace

TEST_CASE("a collective that could not be begun for all ranks keeps no tensor of those for which it was") {
  const auto group = make_local_group(2);
  TwoRanks two(group[0], group[1]);
  const std::vector<Tensor> tensors{Tensor(Shape{4}, DType::float32), Tensor(Shape{5}, DType::float32)};
  const auto failure = two.failure_of_begin(tensors);
  REQUIRE(failure);
  for (auto& rank : two.ranks) rank.skip(failure);
  for (const auto& tensor : tensors) CHECK(tensor.use_count() == 1);
}

TEST_CASE("whatever keeps a collective from being begun ends it on all ranks, with the conductor's name and step") {
  const auto group = make_local_group(3);
  TwoRanks two(group[0], std::make_shared<Exhausted>(group[1]));
  const std::vector<Tensor> tensors(2, Tensor(Shape{4}, DType::float32));
  bool woken = false;
  const auto elsewhere = group[2]->all_reduce(Tensor(Shape{4}, DType::float32), [&] { woken = true; });
  const auto failure = two.failure_of_begin(tensors);
  REQUIRE(failure);
  CHECK(woken);
  CHECK_THROWS_WITH(elsewhere->advance(), Contains("bad_alloc") && Contains("op conductor, step 6"));
  two.ranks[0].skip(failure);
  CHECK(tensors[0].use_count() == 2);
}

TEST_CASE("a collective that has failed or is complete keeps no tensor") {
  const bool fails = GENERATE(true, false);
  const auto group = make_local_group(2);
  TwoRanks two(group[0], group[1]);
  const auto dtype = fails ? DType::uint8 : DType::float32;
  const std::vector<Tensor> tensors{Tensor(Shape{4}, dtype), Tensor(Shape{4}, dtype)};
  REQUIRE(two.conductor.fire(two.firing(tensors)));
  int failed = 0;
  for (int round = 0; round < 3; ++round)
    for (std::size_t i = 0; i < 2; ++i) {
      if (!two.begun[i]->work) continue;
      const auto firing = two.firing({&tensors[i], 1});
      try {
        round == 0 ? two.ranks[i].fire(firing) : two.ranks[i].advance(firing);
      } catch (const std::exception&) {
        ++failed;
      }
    }
  CHECK(failed == (fails ? 2 : 0));
  for (const auto& tensor : tensors) CHECK(tensor.use_count() == 1);
}

TEST_CASE("an all-gather puts all ranks' tensors into every rank's output, step by step") {
  const auto group = make_local_group(2);
  TwoRanks two(group[0], group[1], TwoRanks::Kind::all_gather);
  for (float step = 0; step < 3; ++step) {
    const std::vector<Tensor> tensors{Tensor::from<float>({2}, {step, step + 1}),
                                      Tensor::from<float>({2}, {step + 2, step + 3})};
    const std::vector<Tensor> gathered{Tensor({2, 2}, DType::float32), Tensor({2, 2}, DType::float32)};
    REQUIRE(two.conductor.fire(two.firing(tensors)));
    std::vector<bool> done(2);
    for (int round = 0; round < 3; ++round)
      for (std::size_t i = 0; i < 2; ++i) {
        if (done[i]) continue;
        const auto firing = two.firing({&tensors[i], 1}, {&gathered[i], 1});
        done[i] = round == 0 ? two.ranks[i].fire(firing) : two.ranks[i].advance(firing);
      }
    CHECK(done == std::vector<bool>{true, true});
    for (const auto& all : gathered)
      CHECK(std::vector<float>(all.data<float>().begin(), all.data<float>().end()) ==
            std::vector<float>{step, step + 1, step + 2, step + 3});
  }
}
