#pragma once

#include "troupe/actors/control/run_control.hpp"
#include "troupe/actors/control/run_coordinator.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

/// The kinds of messages between the run controls of two processes. A frame has its word in FrameHeader::edge. The
/// orders must come first, in the order of the types in RunOrder.
enum class RunWord : std::int32_t {
  prepare,
  start_sources,
  pause_sources,
  run_until,
  abort,
  over,  ///< the run has ended
  // From a part in another process and its owner, the SpawnedPlan there:
  asked,  ///< the owner has started a run
  wired,
  prepared,
  paused,
  finished,
  failed,
  stop,
  give_up,
  left,  ///< the owner has destroyed its plan
};

Frame frame_of(const RunOrder& order);
Frame frame_of(const RunEnd& end);
Frame frame_of(RunWord word, std::int64_t step = 0, std::uint64_t run = 0);
Frame frame_of(RunWord word, const RunInfo& run);
Frame frame_of(RunWord word, const FailurePtr& failure);

/// The word of a frame. Throws Error if the frame has none of these words.
RunWord word_of(const IncomingFrame& frame);
/// Decode the content of a frame: of an order, of `over`, of `asked`, and of a word with a failure. Throw Error if the
/// frame is damaged.
RunOrder order_of(const IncomingFrame& frame);
RunEnd end_of(const IncomingFrame& frame);
RunInfo run_of(const IncomingFrame& frame);
FailurePtr failure_of(const IncomingFrame& frame);

}  // namespace troupe
