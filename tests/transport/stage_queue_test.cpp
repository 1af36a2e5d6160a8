#include "troupe/transport/hierarchy/stage_queue.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;
using namespace troupe::hierarchy;

namespace {

/// Complete as soon as the test says so.
class StagedStep final : public Work {
 public:
  explicit StagedStep(std::shared_ptr<bool> done) : done_(std::move(done)) {}
  bool advance(std::size_t) override { return *done_; }
  std::string waits_for(std::size_t) const override { return "the test"; }

 private:
  std::shared_ptr<bool> done_;
};

/// A collective whose stages the test completes, and how often its owner was told of progress.
struct Watched {
  explicit Watched(StageQueue& queue) {
    Stages stages;
    for (std::size_t stage = 0; stage < kStages; ++stage) {
      done[stage] = std::make_shared<bool>(false);
      stages[stage] = [this, stage]() -> std::shared_ptr<Work> {
        ++begun;
        return std::make_shared<StagedStep>(done[stage]);
      };
    }
    collective = queue.add(std::move(stages));
    collective->listeners->set(0, [this] { ++told; });
  }
  void complete(std::initializer_list<std::size_t> stages) {
    for (const auto stage : stages) *done[stage] = true;
  }

  std::array<std::shared_ptr<bool>, kStages> done;
  std::shared_ptr<StagedCollective> collective;
  int begun = 0, told = 0;
};

}  // namespace

TEST_CASE("collectives begin each stage in their order, and the owner of one that another's look completes is told") {
  StageQueue queue;
  Watched first(queue), second(queue);
  CHECK(first.begun == 1);
  CHECK(second.begun == 1);
  second.complete({0, 1, 2, 3});
  CHECK_FALSE(queue.advance(*second.collective));
  // The first has not begun its second stage.
  CHECK(second.begun == 1);
  CHECK(queue.waits_for(*second.collective) == "the collective before has not begun stage 2");
  first.complete({0, 1, 2});
  CHECK_FALSE(queue.advance(*first.collective));
  CHECK(first.begun == 4);
  CHECK(second.begun == 4);
  CHECK(second.told == 1);
  CHECK(queue.advance(*second.collective));
  CHECK(first.told == 0);
}

TEST_CASE("the look that completes a collective tells all its owners, for its stages tell no one any more") {
  StageQueue queue;
  Watched shared(queue);
  shared.complete({0, 1, 2, 3});
  CHECK(queue.advance(*shared.collective));
  CHECK(shared.told == 1);
  CHECK(queue.advance(*shared.collective));
  CHECK(shared.told == 1);
}

TEST_CASE("a failure tells the owners of all collectives, also of those that wait for their turn") {
  StageQueue queue;
  Watched first(queue), second(queue);
  second.complete({0});
  CHECK_FALSE(queue.advance(*second.collective));
  queue.fail(std::make_shared<Failure>(Failure{.what = "fire"}));
  CHECK(first.told == 1);
  CHECK(second.told == 1);
  CHECK_FALSE(queue.remove(*first.collective));
  CHECK_THROWS_AS(queue.advance(*second.collective), Aborted);
  CHECK_THROWS_AS(queue.add({}), Aborted);
}
