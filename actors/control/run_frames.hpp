#pragma once

#include "troupe/actors/control/run_control.hpp"
#include "troupe/actors/control/run_coordinator.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

/// The kinds of messages between the run controls of two processes. FrameHeader::edge holds the RunWord of a frame. The
/// orders must come first and in the order of the types in RunOrder, because the index of an order's type is its
/// RunWord.
enum class RunWord : std::int32_t {
  prepare,
  start_sources,
  pause_sources,
  run_until,
  abort,
  over,  ///< the run has ended
  // Reports to rank 0. They come from a part of the plan in another process, or from the SpawnedPlan that owns this
  // part:
  asked,  ///< the owner has started a run
  wired,
  prepared,
  paused,
  finished,
  failed,
  stop,
  interrupt,
  give_up,
  left,  ///< the owner has destroyed its plan
};

Frame frame_of(const RunOrder& order);
Frame frame_of(const RunEnd& end);
Frame frame_of(RunWord word, std::int64_t step = 0, std::uint64_t run = 0);
Frame frame_of(RunWord word, const RunInfo& run);
Frame frame_of(RunWord word, const FailurePtr& failure);

/// Returns the RunWord of a frame. Throws Error if the frame is not of type FrameType::control or has no RunWord.
RunWord word_of(const IncomingFrame& frame);
// The next four functions decode frames: order_of() an order, end_of() `over`, run_of() `asked`, and failure_of() a
// frame with a failure: `abort`, `over`, `failed` or `give_up`. They throw Error if the frame is damaged, or has
// another RunWord.

RunOrder order_of(const IncomingFrame& frame);
RunEnd end_of(const IncomingFrame& frame);
RunInfo run_of(const IncomingFrame& frame);
FailurePtr failure_of(const IncomingFrame& frame);

}  // namespace troupe
