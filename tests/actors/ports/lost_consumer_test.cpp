// Frames that an actor with its own firing rule deals out to workers in expendable processes, one of which is lost.

#include <deque>
#include <map>
#include <set>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/scheduled_parts.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kFrames = 40;

/// Gives each frame to a worker that has room. A careful one sends refused frames again; another one does not ask.
class FrameSplitter final : public PortActor {
 public:
  FrameSplitter(caf::actor_config& config, bool careful, bool* saw_loss)
      : PortActor(config), careful_(careful), saw_loss_(saw_loss) {}

 private:
  void advance() override {
    while (has(0)) waiting_.push_back(take(0));
    for (std::uint32_t worker = 0; worker < outputs(); ++worker) {
      *saw_loss_ = *saw_loss_ || lost_output(worker);
      while (!waiting_.empty() && has_free(worker)) {
        const auto frame = waiting_.front();
        waiting_.pop_front();
        sent_[{worker, send_output(worker, frame.tensor, frame.step)}] = frame;
      }
    }
  }
  void on_slot_free(std::uint32_t worker, std::uint32_t slot) override {
    auto frame = sent_.extract({worker, slot}).mapped();
    if (careful_ && was_refused(worker, slot))
      waiting_.push_back(frame);
    else
      give_back(0, frame);
  }

  bool careful_;
  bool* saw_loss_;
  std::deque<Arrival> waiting_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Arrival> sent_;
};

/// Returns a frame once its result was taken.
class FrameWorker final : public PortActor {
 public:
  using PortActor::PortActor;

 private:
  void advance() override {
    while (has(0) && has_free(0)) {
      auto frame = take(0);
      const auto slot = send_output(0, frame.tensor.clone(), frame.step);
      frames_[slot] = std::move(frame);
    }
  }
  void on_slot_free(std::uint32_t output, std::uint32_t slot) override {
    (void)was_refused(output, slot);
    give_back(0, frames_.at(slot));
  }
  std::map<std::uint32_t, Arrival> frames_;
};

class FrameCollector final : public PortActor {
 public:
  FrameCollector(caf::actor_config& config, std::set<float>* seen) : PortActor(config), seen_(seen) {}

 private:
  void advance() override {
    for (std::uint32_t input = 0; input < inputs(); ++input)
      while (has(input)) {
        auto result = take(input);
        seen_->insert(result.tensor.data<float>()[0]);
        give_back(input, result);
      }
  }
  std::set<float>* seen_;
};

struct LossyJob {
  LossyJob(bool careful, std::uint64_t seed) {
    const auto source = plan.add(counting_source("source", kFrames));
    const auto splitter = plan.add(external<FrameSplitter>(
        "splitter", {.inputs = {kPair}, .outputs = {kPair, kPair}, .rule = FiringRule::own}, careful, &saw_loss));
    const auto collector =
        plan.add(external<FrameCollector>("collector", {.inputs = {kPair, kPair}, .rule = FiringRule::own}, &seen));
    plan.connect(source, 0, splitter, 8);
    plan.actors[static_cast<std::size_t>(splitter)].inputs[0].holds = 8;
    for (int number = 0; number < 2; ++number) {
      auto worker = external<FrameWorker>("worker" + std::to_string(number),
                                          {.inputs = {kPair}, .outputs = {kPair}, .rule = FiringRule::own});
      worker.place.process = number + 1;
      const auto id = plan.add(std::move(worker));
      plan.connect(splitter, number, id, 3);
      plan.actors[static_cast<std::size_t>(id)].inputs[0].holds = 3;
      plan.connect(id, 0, collector, 2);
    }
    plan.expendable = {1, 2};
    for (std::uint64_t part = 0; part < 3; ++part) parts.push_back({scheduled_runtime(3 * seed + part), {}});
  }

  /// The error of a run in which the first worker is lost; empty if the run has succeeded.
  std::string run(std::uint64_t seed) {
    SpawnedPlan spawned(parts, split(plan));
    spawned.start({});
    run_some(parts, seed, uniform_below(600, seed, 1, 1));
    lost_in_run = !spawned.done();
    spawned.lose(1);
    try {
      spawned.wait();
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  Plan plan;
  std::vector<PartSetup> parts;
  std::set<float> seen;
  bool saw_loss = false;
  bool lost_in_run = false;
};

}  // namespace

TEST_CASE("frames of a lost worker come back refused, and another worker gets them") {
  int losses = 0;
  for (std::uint64_t seed = 0; seed < schedules(60); ++seed) {
    INFO(seed);
    LossyJob job(true, seed);
    CHECK(job.run(seed).empty());
    CHECK(job.seen.size() == kFrames);
    CHECK((job.saw_loss || !job.lost_in_run || job.seen.size() == kFrames));
    losses += job.saw_loss ? 1 : 0;
  }
  CHECK(losses > 0);
}

TEST_CASE("an actor that does not ask whether a frame was refused fails the run rather than lose the frame") {
  int failures = 0;
  for (std::uint64_t seed = 0; seed < schedules(60); ++seed) {
    INFO(seed);
    LossyJob job(false, seed);
    const auto error = job.run(seed);
    if (error.empty()) {
      CHECK(job.seen.size() == kFrames);
      continue;
    }
    ++failures;
    CHECK_THAT(error, Contains("[splitter]") && Contains("came back unused from 'link to process 1'"));
  }
  CHECK(failures > 0);
}
