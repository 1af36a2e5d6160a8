#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "troupe/actors/control/run_coordinator.hpp"
#include "troupe/actors/control/run_frames.hpp"
#include "troupe/actors/threads/one_at_a_time.hpp"
#include "troupe/transport/link.hpp"

// The two ends of the link over which rank 0 controls the part of a plan in another process.

namespace troupe {

/// The run control in a process other than rank 0. It passes the reports of the part in this process over the link to
/// the RunCoordinator in rank 0, and the orders of the RunCoordinator to the part.
class RunFollower final : public RunControl, public std::enable_shared_from_this<RunFollower> {
 public:
  explicit RunFollower(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  /// Begins to receive orders. A shared_ptr must own this object before the call.
  void listen();

  int join(Post post, bool has_sources) override;
  void leave(int part) override;

  void start(const RunInfo& run) override;
  void stop() override;
  void interrupt() override;
  void give_up(const FailurePtr& failure) override;
  void close() override;
  bool has_begun() const override { return begun_; }

  void wired(int) override { link_->send(frame_of(RunWord::wired)); }
  void prepared(int, std::int64_t end_step) override { link_->send(frame_of(RunWord::prepared, end_step)); }
  void paused(int, std::uint64_t run, std::int64_t next_step) override {
    link_->send(frame_of(RunWord::paused, next_step, run));
  }
  void finished(int) override { link_->send(frame_of(RunWord::finished)); }
  void failed(const FailurePtr& failure) override { link_->send(frame_of(RunWord::failed, failure)); }

 private:
  void receive();
  void post(const RunOrder& order);
  void end(const RunEnd& end);

  const std::shared_ptr<Link> link_;
  // Calls of receive() may nest: at the end of a run receive() calls the function set by on_over(), which may call
  // start(), which calls receive().
  OneAtATime receiving_;
  std::atomic<bool> begun_ = false;
  std::mutex mutex_;
  Post post_;
};

/// The coordinator's side of a part in another process. It sends orders to the part over the link, and passes the
/// part's reports to the RunCoordinator. If an expendable part leaves or gives up, or if its link fails, runs go on
/// without the part. If the same happens to a part that is not expendable, the run in progress fails, and no run can
/// follow.
class RemotePart {
 public:
  RemotePart(std::shared_ptr<RunCoordinator> coordinator, std::shared_ptr<Link> link, int process, bool has_sources,
             RunCoordinator::Attendance attendance = RunCoordinator::Attendance::needed);
  ~RemotePart();
  RemotePart(const RemotePart&) = delete;
  RemotePart& operator=(const RemotePart&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace troupe
