#include "troupe/actors/control/run_frames.hpp"
#include "troupe/tests/fuzz/frames.hpp"
#include "troupe/tests/fuzz/targets.hpp"

namespace troupe::fuzz {

namespace {

/// What a frame says, said again, arrives as the same.
template <class Decode, class Encode>
void expect_round_trip(const IncomingFrame& frame, Decode decode, Encode encode) {
  const Frame again = encode(decode(frame));
  expect(bytes_of(encode(decode(arrived(again)))) == bytes_of(again), "a frame of a run decodes to the same");
}

/// What is done with the numbers of a run.
void expect_usable(const RunInfo& run) {
  expect(end_of(run) >= run.first_step, "a run does not end before it begins");
}

}  // namespace

/// What the run controls of two processes tell each other.
void run_frame(Input& input) {
  const auto frame = read_frame(input);
  const auto word = word_of(frame);
  if (word < RunWord::over) {
    const auto order = order_of(frame);
    if (const auto* prepare = std::get_if<PrepareRun>(&order)) expect_usable(prepare->info);
    expect_round_trip(frame, order_of, [](const RunOrder& decoded) { return frame_of(decoded); });
  } else if (word == RunWord::over) {
    const auto end = end_of(frame);
    expect((end.phase == RunControl::Phase::failed) == (end.failure != nullptr), "a failed run has a failure");
    const auto decode = [](const IncomingFrame& from) { return end_of(from); };
    expect_round_trip(frame, decode, [](const RunEnd& decoded) { return frame_of(decoded); });
  } else if (word == RunWord::asked) {
    expect_usable(run_of(frame));
    expect_round_trip(frame, run_of, [word](const RunInfo& run) { return frame_of(word, run); });
  } else if (word == RunWord::failed || word == RunWord::give_up) {
    const auto decode = [](const IncomingFrame& from) { return failure_of(from); };
    expect_round_trip(frame, decode, [word](const FailurePtr& failure) { return frame_of(word, failure); });
  }
}

}  // namespace troupe::fuzz
