// Actors that keep a tensor which a slot carries: senders that send it again, and consumers that have returned it.

#include "troupe/tests/actors/ports/step_actors.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Sends one tensor of its own in every step; in each step it writes the number of the step to the tensor if it
/// `writes`. Sends a view of the tensor if it `sends_view`.
class Resender : public PortActor {
 public:
  Resender(caf::actor_config& config, bool writes, bool sends_view)
      : PortActor(config), writes_(writes), sends_view_(sends_view) {}

 private:
  bool has_step(std::int64_t step) override { return step < 20; }
  void fire(std::int64_t step, std::span<const Tensor>, std::span<Tensor> outputs) override {
    if (writes_) own_.mutable_data<float>()[0] = static_cast<float>(step);
    outputs[0] = sends_view_ ? own_.view(Shape{2}) : own_;
  }
  bool writes_, sends_view_;
  Tensor own_{Shape{2}, DType::float32};
};

Plan resend(bool writes, bool sends_view, std::int32_t capacity, std::vector<float>& record) {
  Plan plan;
  const auto resender = plan.add(external<Resender>("resender", {.outputs = {kPair}}, writes, sends_view));
  plan.connect(resender, 0, plan.add(external<FirstSink>("sink", {.inputs = {kPair}}, &record)), capacity);
  return plan;
}

}  // namespace

TEST_CASE("an actor may send its own tensor again and again, but not write to it while a slot carries it") {
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    for (const bool sends_view : {false, true}) {
      std::vector<float> record;
      run_seeded(seed, resend(false, sends_view, 3, record));
      CHECK(record == std::vector<float>(20, 0.0F));
      record.clear();
      run_seeded(seed, resend(true, sends_view, 1, record));
      CHECK(record == counted(0, 20, 0.0F));
      record.clear();
      // With several slots the source writes to a tensor that the sink has not read.
      std::string error;
      try {
        run_seeded(seed, resend(true, sends_view, 3, record));
      } catch (const Error& thrown) {
        error = thrown.what();
      }
      if (error.empty()) CHECK(record == counted(0, 20, 0.0F));
      if (!error.empty())
        CHECK_THAT(error, Contains("[resender] the tensor that output 0 carried was written to before its slot was"));
    }
  }
  std::vector<float> record;
  CHECK_THROWS_WITH(
      [&] {
        for (std::uint64_t seed = 0; seed < 20; ++seed) run_seeded(seed, resend(true, false, 3, record));
      }(),
      Contains("[resender] the tensor that output 0 carried was written to"));
}

#ifdef TROUPE_CHECKS
namespace {

/// Returns what it gets, but keeps a handle.
class Keeper : public PortActor {
  using PortActor::PortActor;
  void fire(std::int64_t, std::span<const Tensor> inputs, std::span<Tensor>) override { kept_ = inputs[0]; }
  Tensor kept_;
};

}  // namespace

TEST_CASE("with checks, a consumer that returns a slot but keeps its tensor is found out") {
  Plan plan;
  const auto source = plan.add(counting_source("source", 5));
  plan.connect(source, 0, plan.add(external<Keeper>("keeper", {.inputs = {kPair}})));
  CHECK_THROWS_WITH(run_seeded(0, plan),
                    Contains("[credit] a consumer of 'source' returned a slot but still holds its tensor"));
}
#endif
