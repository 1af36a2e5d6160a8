#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "troupe/actors/run/over_callback.hpp"
#include "troupe/actors/run/run_control.hpp"

namespace troupe {

/// How a run ended.
struct RunEnd {
  RunControl::Phase phase = RunControl::Phase::idle;
  FailurePtr failure;
  bool drained = false;
  bool stopped = false;
};

/// The run control of all parts of a plan, in the process of the first.
class RunCoordinator final : public RunControl {
 public:
  int join(Post post, bool has_sources) override;
  void leave(int part) override;

  void start(const RunInfo& run) override;
  void stop() override;
  void give_up(const FailurePtr& failure) override;
  void close() override;

  Phase phase() const override;
  bool drained() const override;
  bool stopped() const override;
  FailurePtr failure() const override;
  bool wait_for(std::chrono::milliseconds limit) override;
  void on_over(std::function<void()> callback) override { on_over_.set(std::move(callback)); }

  void wired(int part) override;
  void prepared(int part, std::int64_t end_step) override;
  void paused(int part, std::uint64_t run, std::int64_t next_step) override;
  void finished(int part) override;
  void failed(const FailurePtr& failure) override;

  // What parts of other processes need.

  /// As join(), for a part of another process, whose owner starts its runs himself. `post_end` is called like `post`
  /// when a run is over.
  int join_remote(Post post, std::function<void(const RunEnd&)> post_end, bool has_sources, int process);
  /// The owner over there has started a run: no run begins before all owners have started the same.
  void asked(int part, const RunInfo& run);
  /// The owner over there has gone: no run can go on, or follow.
  void owner_left(int part);

 private:
  struct Part {
    Post post;
    bool has_sources = false;
    bool wired = false;
    bool reported = false;  // to the order that is being carried out
    // Of a part of another process.
    std::optional<int> process = {};
    std::function<void(const RunEnd&)> post_end = {};
    std::optional<RunInfo> asked = {};
    bool left = false;
  };
  /// Notes a report. True if it was the last of those awaited.
  bool all_reported(int part, bool sources_only = false);
  void await_reports();
  void post(const RunOrder& order, bool sources_only = false);
  void prepare_if_ready(std::unique_lock<std::mutex>& lock);
  void pause_sources();
  void fail(const FailurePtr& failure, std::unique_lock<std::mutex>& lock);
  void finish(Phase phase, std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Part> parts_;
  OverCallback on_over_;
  Phase phase_ = Phase::idle;
  FailurePtr failure_;
  FailurePtr broken_;  // between two runs
  PrepareRun order_;
  bool preparing_ = false, order_posted_ = false;
  bool started_ = false;
  bool stop_wanted_ = false;
  bool stopped_ = false;
  bool pausing_ = false;
  std::int64_t end_step_ = 0;
  std::int64_t furthest_step_ = 0;
  std::set<int> finished_;
  bool closed_ = false;
  bool drained_ = false;
};

}  // namespace troupe
