#include "troupe/tests/fuzz/seeds.hpp"

#include <array>

#include "troupe/actors/calls/call_frames.hpp"
#include "troupe/actors/control/run_frames.hpp"
#include "troupe/actors/shard/recording.hpp"
#include "troupe/strategies/training/job_status.hpp"
#include "troupe/tests/fuzz/frames.hpp"
#include "troupe/transport/linked/rank_state.hpp"
#include "troupe/transport/membership/rendezvous_messages.hpp"

namespace troupe::fuzz {

namespace {

Failure some_failure() {
  const auto cause = std::make_shared<Failure>(Failure{.kind = FailureKind::part_died, .what = "[link] gone"});
  return {.rank = 1,
          .replica = 2,
          .actor = "segment 0",
          .op = "loss",
          .step = 7,
          .kind = FailureKind::invalid_sample,
          .row = 3,
          .sample = 35,
          .what = "[loss] broken",
          .cause = cause};
}

Member member() {
  return {{"tcp://a:1", "ipc://@b", "id", "key", "host", 5}, {"tcp://a:2", "", "id2", "key2", "host", 5}};
}

Bytes message(const Frame& frame) {
  return byte(0) + bytes_of(frame);
}

Bytes control(int edge, const Tensor& payload = Frame::empty_payload(), std::uint64_t hash = 0) {
  return message({{.type = FrameType::control, .edge = edge, .generation = hash}, payload});
}

Seeds frame_seeds() {
  const Frame tensor{{FrameType::tensor_ready, 7, 1, 2, 11, -3, 1'000'000}, Tensor(Shape{2, 3}, DType::float32)};
  return {{"tensor", message(tensor)},
          {"tensor_as_it_is", byte(1) + bytes_of(tensor)},
          {"scalar", message({{FrameType::tensor_ready}, Tensor::scalar<std::int64_t>(-5)})},
          {"failure", message({{FrameType::failure_ready, 3}, failure_payload(some_failure())})},
          {"credit", message({{FrameType::credit_returned, 3, 1, 2}})},
          {"control", control(3, text("abc"))}};
}

Seeds run_seeds() {
  const auto failure = std::make_shared<Failure>(some_failure());
  const RunInfo run{3, 10, 1, 2};
  return {{"prepare", message(frame_of(RunOrder(PrepareRun{1, run})))},
          {"start_sources", message(frame_of(RunOrder(StartSources{5})))},
          {"pause_sources", message(frame_of(RunOrder(PauseSources{1})))},
          {"run_until", message(frame_of(RunOrder(RunUntil{5})))},
          {"abort", message(frame_of(RunOrder(AbortRun{failure})))},
          {"over", message(frame_of(RunEnd{RunControl::Phase::done, nullptr, true, false}))},
          {"over_failed", message(frame_of(RunEnd{RunControl::Phase::failed, failure, true, true}))},
          {"asked", message(frame_of(RunWord::asked, run))},
          {"failed", message(frame_of(RunWord::failed, failure))},
          {"paused", message(frame_of(RunWord::paused, 4, 1))}};
}

/// What the frames say is known only inside of membership.cpp and agreement.cpp.
Seeds membership_seeds() {
  const auto lost = control(1, failure_payload(some_failure()));
  return {
      {"alive_lost", byte(0) + control(0) + lost}, {"leaving", byte(0) + control(2)}, {"left", byte(1) + control(3)}};
}

Seeds agreement_seeds() {
  const auto hash = control(0, text("plan"), 7), other_hash = control(0, text("plan"), 8);
  return {{"agreed_0", byte(0) + hash},
          {"differs_0", byte(0) + other_hash + control(2, text("one\nthree"))},
          {"agreed_1", byte(1) + control(3)},
          {"differs_1", byte(1) + control(1) + control(4, text("no"))}};
}

Seeds call_seeds() {
  const auto one = Tensor(Shape{1, 2}, DType::float32), none = Tensor(Shape{0}, DType::int64);
  return {{"call", byte(0) + encode(OrderedCall{"step", {one, none}})},
          {"result", byte(1) + encode(CallResult{{one}, {{"w", one}}, {}})},
          {"error", byte(1) + encode(CallResult{{}, {}, "[step] wrong"})},
          {"value", byte(2) + encode(VariableValue{one, {}})}};
}

Seeds collective_seeds() {
  const auto part = [](CollectiveKind kind, std::int64_t elements, std::int64_t sent, int root, linked::Phase phase) {
    const CallSignature signature{kind, DType::float32, elements, root};
    return message(
        {linked::header_of(FrameType::collective_part, signature, 0, phase), Tensor(Shape{sent}, DType::float32)});
  };
  const auto ready = message({linked::header_of(FrameType::collective_ready, {}, 0, linked::inputs)});
  using enum CollectiveKind;
  return {{"sum", byte(0) + part(all_reduce, 8, 8, 0, linked::inputs)},
          {"slices", byte(1) + part(all_reduce, 1'040, 528, 0, linked::inputs) +
                         part(all_reduce, 1'040, 512, 0, linked::results)},
          {"gather", byte(2) + part(all_gather, 8, 8, 0, linked::inputs)},
          {"broadcast", byte(3) + part(broadcast, 8, 8, 1, linked::inputs)},
          {"scatter", byte(5) + part(scatter, 16, 8, 1, linked::inputs)},
          {"receive", byte(4) + message({{FrameType::collective_send}, Tensor(Shape{8}, DType::float32)})},
          {"ready", byte(4) + ready},
          {"abort", byte(0) + message({{FrameType::collective_abort}, failure_payload(some_failure())})},
          {"leave", byte(0) + message({{FrameType::collective_leave}, failure_payload(some_failure())})}};
}

Recording recorded() {
  Recording recording(7, "start values of seed 3 at step 0");
  recording.begin_run("dispatcher");
  recording.note("dispatcher", std::array<std::int32_t, 4>{0, 1, 1, 0});
  recording.begin_run("shard@0");
  recording.note("shard@0", std::array<std::int32_t, 3>{0, 1, 1});
  return recording;
}

JobStatus evaluation() {
  JobStatus status{.kind = JobStatus::Kind::evaluated};
  status.metrics.rows = 10;
  auto& entries = status.metrics.values.mutable_entries();
  entries.resize(2);
  entries[0].name = "accuracy";
  entries[1].name = "confusion_matrix";
  entries[1].table = {Shape{2, 2}, {1.0, 2.0, 3.0, 4.0}};
  return status;
}

}  // namespace

std::map<std::string, Seeds> all_seeds() {
  const Answer welcome{Answer::Kind::welcome, {}, {member(), member()}};
  return {{"agreement", agreement_seeds()},
          {"answer",
           {{"welcome", encode(welcome)},
            {"refused", encode(Answer{Answer::Kind::refused, "seed is 3 on rank 1 but 4 on rank 0"})},
            {"go", encode(Answer{Answer::Kind::go})}}},
          {"assembly", assembly_seeds()},
          {"call", call_seeds()},
          {"collective", collective_seeds()},
          {"failure", {{"chain", encode(some_failure())}, {"empty", encode(Failure{})}}},
          {"frame", frame_seeds()},
          {"hello",
           {{"agreement", encode(Hello{"run", 1, 2, {{"seed", "3"}, {"data", "0123"}}, member()})},
            {"empty", encode(Hello{})}}},
          {"job_status",
           {{"training", JobStatus{.generation = 3, .plan_hash = 5, .data_hash = 7}.encode()},
            {"evaluated", evaluation().encode()}}},
          {"membership", membership_seeds()},
          {"packet", packet_seeds()},
          {"recording", {{"two_actors", recorded().encode()}, {"empty", Recording(1, "here").encode()}}},
          {"run_frame", run_seeds()}};
}

}  // namespace troupe::fuzz
