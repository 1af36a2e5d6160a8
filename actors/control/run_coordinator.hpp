#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "troupe/actors/control/run_control.hpp"
#include "troupe/actors/load/order_queue.hpp"

namespace troupe {

/// The run control of all parts of a plan. It lives in rank 0, or in the only process.
class RunCoordinator final : public RunControl {
 public:
  int join(Post post, bool has_sources) override;
  void leave(int part) override;

  void start(const RunInfo& run) override;
  void stop() override;
  void interrupt() override;
  void give_up(const FailurePtr& failure) override;
  void close() override;
  std::vector<int> absent() const override;

  void wired(int part) override;
  void prepared(int part, std::int64_t end_step) override;
  void paused(int part, std::uint64_t run, std::int64_t next_step) override;
  void finished(int part) override;
  void failed(const FailurePtr& failure) override;

  // ---- Parts of other processes

  /// The way in which a part of another process takes part in runs. The owner of a part is the SpawnedPlan in its
  /// process.
  enum class Attendance {
    /// No run begins before the part's owner has started the same run, and no run goes on without the part.
    needed,
    /// Expendable: no run begins before the part's owner has started one or the part is lost, and a run goes on if the
    /// part is lost.
    expected,
    /// Expendable, in a process that has come back. No run waits for the part: it takes part from the first run on that
    /// begins after its owner has started one.
    late_comer,
  };
  /// Adds the part of process `process`. `post` sends an order to the part, `post_end` sends the end of a run to the
  /// part's owner. Returns the number of the part.
  int join_remote(Post post, std::function<void(const RunEnd&)> post_end, bool has_sources, int process,
                  Attendance attendance);
  /// Notes that the part's owner has started a run.
  void asked(int part, const RunInfo& run);
  /// Notes that the owner of a needed part has destroyed its plan. A run in progress fails, and no run can follow.
  void owner_left(int part);
  /// Notes that an expendable part is lost. Runs go on without the part.
  void lose(int part);

 private:
  struct Part {
    Post post;
    bool has_sources = false;
    bool wired = false;
    bool reported = false;  // the part has carried out the last PrepareRun or PauseSources
    bool finished = false;  // all actors of the part have finished the run
    bool lost = false;
    bool in_run = false;
    int process = 0;
    // Only for a part of another process:
    bool is_remote = false;
    Attendance attendance = Attendance::needed;
    std::function<void(const RunEnd&)> post_end = {};
    std::optional<RunInfo> asked = {};
    bool left = false;
  };
  /// Locks the coordinator while one order of the SpawnedPlan or one report of a part is handled. The destructor
  /// unlocks it, posts the queued orders to the parts and, if a run is over, calls the function set by on_over(). If
  /// posting throws, the destructor gives the run up.
  class Handling {
   public:
    explicit Handling(RunCoordinator& coordinator) : coordinator_(coordinator), lock_(coordinator.mutex_) {}
    ~Handling();

   private:
    RunCoordinator& coordinator_;
    std::unique_lock<std::mutex> lock_;
  };
  /// The stage of a run: `assembling` until all parts are wired and their owners have started the run, `preparing`
  /// until all parts are prepared, `started` while the run goes on without a stop or failure, `pausing` from a stop or
  /// failure to the end of the run.
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
  int local_parts_ = 0;
  FailurePtr failure_;
  PrepareRun order_;
  Stage stage_ = Stage::assembling;
  bool stopped_ = false;
  bool interrupted_ = false;
  bool over_ = false;  // a run is over, and the function set by on_over() has not been called yet
  std::int64_t end_step_ = 0;
  std::int64_t furthest_step_ = 0;
};

}  // namespace troupe
