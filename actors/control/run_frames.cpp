#include "troupe/actors/control/run_frames.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/bytes.hpp"

namespace troupe {

namespace {

Tensor payload_of(const RunInfo& run, const std::vector<int>& absent = {}) {
  std::vector<std::int64_t> numbers{run.first_step, run.max_steps, run.epoch, run.first_batch};
  numbers.insert(numbers.end(), absent.begin(), absent.end());
  const auto count = static_cast<std::int64_t>(numbers.size());
  return Tensor::from<std::int64_t>({count}, numbers).view(Shape{count * 8}, DType::uint8, 0);
}

RunInfo read_run(ByteReader& reader) {
  RunInfo run;
  for (auto* number : {&run.first_step, &run.max_steps, &run.epoch, &run.first_batch})
    *number = reader.get<std::int64_t>();
  if (run.first_step < 0 || run.max_steps < 0 || run.first_batch < 0)
    throw Error("run", "a run of " + std::to_string(run.max_steps) + " steps from step " +
                           std::to_string(run.first_step) + ", batch " + std::to_string(run.first_batch) +
                           " on is impossible");
  return run;
}

PrepareRun prepare_of(const IncomingFrame& frame) {
  const auto bytes = frame.payload->tensor();
  ByteReader reader(bytes_in(bytes), "run");
  PrepareRun order{static_cast<std::uint64_t>(frame.header.run), read_run(reader)};
  while (!reader.at_end()) order.absent.push_back(static_cast<int>(reader.get<std::int64_t>()));
  return order;
}

/// The flags of a RunEnd in FrameHeader::slot.
enum EndFlags : std::int32_t { kFailed = 1, kDrained = 2, kStopped = 4, kInterrupted = 8 };

}  // namespace

Frame frame_of(RunWord word, std::int64_t step, std::uint64_t run) {
  return {{.type = FrameType::control,
           .edge = static_cast<std::int32_t>(word),
           .run = static_cast<std::int64_t>(run),
           .step = step}};
}

Frame frame_of(RunWord word, const RunInfo& run) {
  return {frame_of(word).header, payload_of(run)};
}

Frame frame_of(RunWord word, const FailurePtr& failure) {
  return {frame_of(word).header, failure_payload(*failure)};
}

Frame frame_of(const RunOrder& order) {
  const auto word = static_cast<RunWord>(order.index());
  struct Encode {
    RunWord word;
    Frame operator()(const PrepareRun& prepare) const {
      return {frame_of(word, 0, prepare.run).header, payload_of(prepare.info, prepare.absent)};
    }
    Frame operator()(const StartSources& start) const { return frame_of(word, start.end_step); }
    Frame operator()(const PauseSources& pause) const { return frame_of(word, 0, pause.run); }
    Frame operator()(const RunUntil& until) const { return frame_of(word, until.end_step); }
    Frame operator()(const AbortRun& abort) const { return frame_of(word, abort.failure); }
  };
  return std::visit(Encode{word}, order);
}

Frame frame_of(const RunEnd& end) {
  auto frame = frame_of(RunWord::over);
  const bool failed = end.phase == RunPhase::failed;
  frame.header.slot = (failed ? kFailed : 0) | (end.drained ? kDrained : 0) | (end.stopped ? kStopped : 0) |
                      (end.interrupted ? kInterrupted : 0);
  if (end.failure) frame.payload = failure_payload(*end.failure);
  return frame;
}

RunWord word_of(const IncomingFrame& frame) {
  const auto word = frame.header.edge;
  if (frame.header.type != FrameType::control || word < 0 || word > static_cast<std::int32_t>(RunWord::left))
    throw Error("run", "a message came that no run control sends");
  return static_cast<RunWord>(word);
}

namespace {

/// Throws Error unless the frame has one of these words.
void expect_word(const IncomingFrame& frame, std::initializer_list<RunWord> words, const std::string& content) {
  const auto word = word_of(frame);
  if (std::ranges::find(words, word) == words.end())
    throw Error("run", "message " + std::to_string(static_cast<int>(word)) + " of a run control carries no " + content);
}

}  // namespace

RunInfo run_of(const IncomingFrame& frame) {
  expect_word(frame, {RunWord::asked}, "run");
  const auto bytes = frame.payload->tensor();
  ByteReader reader(bytes_in(bytes), "run");
  const auto run = read_run(reader);
  if (!reader.at_end()) throw Error("run", "bytes follow the numbers of a run");
  return run;
}

FailurePtr failure_of(const IncomingFrame& frame) {
  expect_word(frame, {RunWord::abort, RunWord::over, RunWord::failed, RunWord::give_up}, "failure");
  return failure_of(frame.payload->tensor());
}

RunOrder order_of(const IncomingFrame& frame) {
  const auto& header = frame.header;
  const auto run = static_cast<std::uint64_t>(header.run);
  switch (word_of(frame)) {
    case RunWord::prepare:
      return prepare_of(frame);
    case RunWord::start_sources:
      return StartSources{header.step};
    case RunWord::pause_sources:
      return PauseSources{run};
    case RunWord::run_until:
      return RunUntil{header.step};
    case RunWord::abort:
      return AbortRun{failure_of(frame)};
    default:
      throw Error("run", "a message came that is no order");
  }
}

RunEnd end_of(const IncomingFrame& frame) {
  expect_word(frame, {RunWord::over}, "end of a run");
  const auto flags = frame.header.slot;
  if ((flags & ~(kFailed | kDrained | kStopped | kInterrupted)) != 0)
    throw Error("run", "flags " + std::to_string(flags) + " of the end of a run are unknown");
  RunEnd end;
  end.phase = (flags & kFailed) != 0 ? RunPhase::failed : RunPhase::done;
  end.drained = (flags & kDrained) != 0;
  end.stopped = (flags & kStopped) != 0;
  end.interrupted = (flags & kInterrupted) != 0;
  if (frame.payload->bytes() > 0) end.failure = failure_of(frame.payload->tensor());
  if ((end.phase == RunPhase::failed) != (end.failure != nullptr))
    throw Error("run", end.failure ? "a run that has not failed has a failure" : "a run has failed without a failure");
  return end;
}

}  // namespace troupe
