#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "troupe/actors/control/run_control.hpp"
#include "troupe/actors/load/order_queue.hpp"

namespace troupe {

/// The run control of all parts of a plan, in rank 0.
class RunCoordinator final : public RunControl {
 public:
  int join(Post post, bool has_sources) override;
  void leave(int part) override;

  void start(const RunInfo& run) override;
  void stop() override;
  void give_up(const FailurePtr& failure) override;
  void close() override;
  std::vector<int> absent() const override;

  void wired(int part) override;
  void prepared(int part, std::int64_t end_step) override;
  void paused(int part, std::uint64_t run, std::int64_t next_step) override;
  void finished(int part) override;
  void failed(const FailurePtr& failure) override;

  // ---- Parts of other processes

  /// The way in which a part of another process takes part in runs.
  enum class Attendance {
    needed,      ///< no run begins before its owner has started the same run, or goes on without it
    expected,    ///< expendable: no run begins before its owner has asked for one, unless the part is lost
    late_comer,  ///< expendable, and came while a run was in progress: takes part from the next run on
  };
  /// A part of another process joins, whose own owner starts its runs. Returns its number. `post_end` is called like
  /// `post` when a run is over.
  int join_remote(Post post, std::function<void(const RunEnd&)> post_end, bool has_sources, int process,
                  Attendance attendance);
  /// The part's owner has started a run in its process.
  void asked(int part, const RunInfo& run);
  /// The part's owner has left: no run can go on, or follow.
  void owner_left(int part);
  /// An expendable part is lost: runs go on without it.
  void lose(int part);

 private:
  struct Part {
    Post post;
    bool has_sources = false;
    bool wired = false;
    bool reported = false;  // it has reported on the order that is being carried out
    bool finished = false;  // it has finished the run
    bool lost = false;
    bool in_run = false;
    // Only for a part of another process:
    std::optional<int> process = {};
    Attendance attendance = Attendance::needed;
    std::function<void(const RunEnd&)> post_end = {};
    std::optional<RunInfo> asked = {};
    bool left = false;
  };
  /// The lock under which one report or order is handled. The orders that follow are posted once the lock is released.
  class Handling {
   public:
    explicit Handling(RunCoordinator& coordinator) : coordinator_(coordinator), lock_(coordinator.mutex_) {}
    ~Handling();

   private:
    RunCoordinator& coordinator_;
    std::unique_lock<std::mutex> lock_;
  };
  /// How far a run has come: it waits for its parts, then for their reports that they are prepared, then runs until its
  /// sources are paused.
  enum class Stage { assembling, preparing, started, pausing };

  int add(Part part);
  bool all_reported(bool sources_only = false) const;
  bool all_ready();
  void choose_parts();
  std::vector<int> absent_parts() const;
  void await_reports();
  void post(const RunOrder& order, bool sources_only = false);
  void post_end(const RunEnd& end);
  void prepare_if_ready();
  void start_if_prepared();
  void finish_if_drained();
  void pause_sources();
  void fail(const FailurePtr& failure);
  void finish(Phase phase, bool drained);

  mutable std::mutex mutex_;
  OrderQueue orders_;
  std::vector<Part> parts_;
  FailurePtr failure_;
  PrepareRun order_;
  Stage stage_ = Stage::assembling;
  bool stopped_ = false;
  bool over_ = false;  // a run is over, and the callback has not been called yet
  std::int64_t end_step_ = 0;
  std::int64_t furthest_step_ = 0;
};

}  // namespace troupe
