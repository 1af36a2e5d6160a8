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
  std::shared_ptr<Work> begin(CollectiveKind, Parts, int) override { throw std::bad_alloc(); }
};

/// Two ranks of a group that one conductor begins for.
struct TwoRanks {
  explicit TwoRanks(const std::shared_ptr<Communicator>& first, const std::shared_ptr<Communicator>& second,
                    CollectiveKind kind = CollectiveKind::all_reduce)
      : conductor(kind, {{first, {0}}, {second, {1}}}, {.actor = "conductor"}) {}

  Firing firing(std::span<const Tensor> inputs, std::span<const Tensor> outputs = {}) {
    return {inputs, outputs, 6, 0, {*stream, nullptr}, &start};
  }
  FailurePtr failure_of_begin(std::span<const Tensor> inputs) {
    try {
      conductor.fire(firing(inputs));
    } catch (const Aborted& aborted) {
      return aborted.failure();
    }
    return nullptr;
  }

  std::shared_ptr<CollectiveStart> start;
  BeginCollectiveTask conductor;
  std::vector<CollectiveTask> ranks{{0, {}}, {1, {}}};
  std::unique_ptr<Stream> stream = backend_of(DeviceType::cpu).make_stream({});
};

}  // namespace

TEST_CASE("a collective that could not be begun for all ranks keeps no tensor of those for which it was") {
  const auto group = make_local_group(2);
  TwoRanks two(group[0], group[1]);
  const std::vector<Tensor> tensors{Tensor(Shape{4}, DType::float32), Tensor(Shape{5}, DType::float32)};
  const auto failure = two.failure_of_begin(tensors);
  REQUIRE(failure);
  for (auto& rank : two.ranks) rank.skip(two.firing({}), failure);
  for (const auto& tensor : tensors) CHECK(tensor.use_count() == 1);
}

TEST_CASE("an error that prevents the begin of a collective ends it on all ranks, with the conductor's name and step") {
  const auto group = make_local_group(3);
  TwoRanks two(group[0], std::make_shared<Exhausted>(group[1]));
  const std::vector<Tensor> tensors(2, Tensor(Shape{4}, DType::float32));
  bool woken = false;
  const auto elsewhere = group[2]->all_reduce(Tensor(Shape{4}, DType::float32), [&] { woken = true; });
  const auto failure = two.failure_of_begin(tensors);
  REQUIRE(failure);
  CHECK(woken);
  CHECK_THROWS_WITH(elsewhere->advance(), Contains("bad_alloc") && Contains("op conductor, step 6"));
  two.ranks[0].skip(two.firing({}), failure);
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
      if (!two.start->ranks[i].work) continue;
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

TEST_CASE("a rank whose step has failed after the conductor began drops its work") {
  const auto group = make_local_group(2);
  TwoRanks two(group[0], group[1]);
  const std::vector<Tensor> tensors{Tensor(Shape{4}, DType::float32), Tensor(Shape{4}, DType::float32)};
  REQUIRE(two.conductor.fire(two.firing(tensors)));
  const auto failure = std::make_shared<Failure>(Failure{.what = "fire"});
  CHECK_FALSE(two.ranks[0].fire(two.firing({&tensors[0], 1})));
  CHECK(two.ranks[0].waits_for() == "all_reduce of 4 float32: rank 1 has not summed its slice");
  two.ranks[1].skip(two.firing({}), failure);
  CHECK(two.start->ranks[1].work == nullptr);
  two.conductor.skip(two.firing({}), failure);
  CHECK_FALSE(two.ranks[0].advance(two.firing({&tensors[0], 1})));
  group[0]->abort(failure);
  CHECK_THROWS_AS(two.ranks[0].advance(two.firing({&tensors[0], 1})), Aborted);
  CHECK(two.ranks[0].waits_for() == "nothing");
  CHECK(tensors[0].use_count() == 1);
}

TEST_CASE("a conductor uses the object of a collective again when all ranks have returned it") {
  const auto group = make_local_group(1);
  BeginCollectiveTask conductor(CollectiveKind::all_gather, {{group[0], {0}}}, {});
  CollectiveTask rank(0, {});
  const auto stream = backend_of(DeviceType::cpu).make_stream({});
  const std::vector<Tensor> tensors{Tensor(Shape{4}, DType::float32)}, gathered{Tensor({1, 4}, DType::float32)};
  std::vector<std::shared_ptr<CollectiveStart>> starts(2);
  for (auto& start : starts) {
    REQUIRE(conductor.fire({tensors, {}, 0, 0, {*stream, nullptr}, &start}));
    CHECK(rank.fire({tensors, gathered, 0, 0, {*stream, nullptr}, &start}));
  }
  CHECK(starts[0] != starts[1]);
  const auto* first = starts[0].get();
  const auto output = starts[0]->ranks[0].output;
  starts[0] = nullptr;
  REQUIRE(conductor.fire({tensors, {}, 0, 0, {*stream, nullptr}, &starts[0]}));
  CHECK(starts[0].get() == first);
  CHECK(starts[0]->ranks[0].output.same_as(output));
}

TEST_CASE("an all-gather follows the rows of its batches, which may change from step to step") {
  const auto group = make_local_group(1);
  BeginCollectiveTask conductor(CollectiveKind::all_gather, {{group[0], {0}}}, {});
  CollectiveTask rank(0, {});
  const auto stream = backend_of(DeviceType::cpu).make_stream({});
  for (const std::int64_t rows : {4, 4, 2, 3, 4}) {
    const Tensor sent({rows, 2}, DType::float32), gathered({rows, 2}, DType::float32);
    for (std::int64_t i = 0; i < 2 * rows; ++i)
      sent.mutable_data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(10 * rows + i);
    const std::vector<Tensor> tensors{sent}, outputs{gathered};
    std::shared_ptr<CollectiveStart> start;
    REQUIRE(conductor.fire({tensors, {}, 0, 0, {*stream, nullptr}, &start}));
    CHECK(rank.fire({tensors, outputs, 0, 0, {*stream, nullptr}, &start}));
    CHECK(std::ranges::equal(gathered.data<float>(), sent.data<float>()));
  }
}

TEST_CASE("an all-gather puts all ranks' tensors into every rank's output, step by step") {
  const auto group = make_local_group(2);
  TwoRanks two(group[0], group[1], CollectiveKind::all_gather);
  for (float step = 0; step < 3; ++step) {
    const std::vector<Tensor> tensors{Tensor::from<float>({2}, {step, step + 1}),
                                      Tensor::from<float>({2}, {step + 2, step + 3})};
    const std::vector<Tensor> gathered{Tensor({2, 2}, DType::float32), Tensor({2, 2}, DType::float32)};
    two.start = nullptr;
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
