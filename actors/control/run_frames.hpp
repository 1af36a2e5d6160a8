#pragma once

#include "troupe/actors/control/run_control.hpp"
#include "troupe/actors/control/run_coordinator.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

/// The messages between the run controls of two processes, in FrameHeader::edge. The orders come first, in the order of
/// RunOrder.
enum class RunWord : std::int32_t {
  prepare,
  start_sources,
  pause_sources,
  run_until,
  abort,
  over,  ///< the run has ended
  // From the parts and owners of other processes:
  asked,  ///< the owner has started a run
  wired,
  prepared,
  paused,
  finished,
  failed,
  stop,
  give_up,
  left,  ///< the owner has left
};

Frame frame_of(const RunOrder& order);
Frame frame_of(const RunEnd& end);
Frame frame_of(RunWord word, std::int64_t step = 0, std::uint64_t run = 0);
Frame frame_of(RunWord word, const RunInfo& run);
Frame frame_of(RunWord word, const FailurePtr& failure);

/// The word of a frame. Throws Error if it is none of these words.
RunWord word_of(const IncomingFrame& frame);
/// The content of a frame with the right word. All throw Error if the frame is damaged.
RunOrder order_of(const IncomingFrame& frame);
RunEnd end_of(const IncomingFrame& frame);
RunInfo run_of(const IncomingFrame& frame);
FailurePtr failure_of(const IncomingFrame& frame);

}  // namespace troupe
