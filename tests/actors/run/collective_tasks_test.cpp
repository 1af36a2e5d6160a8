#include "troupe/actors/run/collective_tasks.hpp"

#include "troupe/ops/core/backend.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

/// Both ranks of a group, which one conductor begins.
struct TwoRanks {
  std::vector<std::shared_ptr<Communicator>> group = make_local_group(2);
  std::vector<std::shared_ptr<BegunCollective>> begun{std::make_shared<BegunCollective>(),
                                                      std::make_shared<BegunCollective>()};
  BeginAllReduceTask conductor{{{group[0], begun[0]}, {group[1], begun[1]}}};
  std::vector<AllReduceTask> ranks{{begun[0], {}}, {begun[1], {}}};
  std::unique_ptr<Stream> stream = backend_of(DeviceType::cpu).make_stream({});

  Firing firing(std::span<const Tensor> inputs) const { return {inputs, {}, 0, 0, {*stream, nullptr}}; }
};

}  // namespace

TEST_CASE("a collective that could not be begun for all ranks keeps no tensor of those for which it was") {
  TwoRanks two;
  const std::vector<Tensor> tensors{Tensor(Shape{4}, DType::float32), Tensor(Shape{5}, DType::float32)};
  FailurePtr failure;
  try {
    two.conductor.fire(two.firing(tensors));
  } catch (const Aborted& aborted) {
    failure = aborted.failure();
  }
  REQUIRE(failure);
  for (auto& rank : two.ranks) rank.skip(failure);
  for (const auto& tensor : tensors) CHECK(tensor.use_count() == 1);
}

TEST_CASE("a collective that has failed or is complete keeps no tensor") {
  const bool fails = GENERATE(true, false);
  TwoRanks two;
  const std::vector<Tensor> tensors(2, Tensor(Shape{4}, fails ? DType::uint8 : DType::float32));
  const std::vector<Tensor> own{tensors[0].clone(), tensors[1].clone()};
  REQUIRE(two.conductor.fire(two.firing(own)));
  int failed = 0;
  for (int round = 0; round < 3; ++round)
    for (std::size_t i = 0; i < 2; ++i) {
      if (!two.begun[i]->work) continue;
      try {
        round == 0 ? two.ranks[i].fire(two.firing({&own[i], 1})) : two.ranks[i].advance(two.firing({&own[i], 1}));
      } catch (const std::exception&) {
        ++failed;
      }
    }
  CHECK(failed == (fails ? 2 : 0));
  for (const auto& tensor : own) CHECK(tensor.use_count() == 1);
}
