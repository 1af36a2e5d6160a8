#pragma once

#include <caf/event_based_actor.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include "troupe/actors/run/messages.hpp"

namespace troupe {

class RunState {
 public:
  enum class Phase { idle, running, done, failed };

  Phase phase() const;
  FailurePtr failure() const;
  void start();
  void finish();
  /// The first failure stays: it is the root cause.
  void fail(const FailurePtr& failure);
  /// No run can follow, and none goes on.
  void give_up(const FailurePtr& failure);
  /// Waits until the run is over, at most for `limit`. True if it is over.
  bool wait_for(std::chrono::milliseconds limit);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::idle;
  FailurePtr failure_;
};

/// A host as the supervisor knows it.
struct SupervisedHost {
  caf::actor actor;
  std::string name;
  bool has_source = false;
  Wire wire;
};

/// Watches over the actors of one plan: wires them, starts runs, notes who has finished, and when a step fails or an
/// actor dies lets all sources end at the same step so that the plan drains. Its owner orders Begin, Pause and Stop.
class Supervisor : public caf::event_based_actor {
 public:
  Supervisor(caf::actor_config& config, std::vector<SupervisedHost> hosts, std::shared_ptr<RunState> state);

  caf::behavior make_behavior() override;
  const char* name() const override { return "troupe.supervisor"; }

 private:
  void wire_all();
  void prepared();
  void begin_run(Begin run);
  void send_begin(const Begin& run);
  void pause_sources();
  void source_paused(const SourcePaused& paused);
  void host_finished();
  void host_died(const caf::down_msg& down);
  void stop_plan();
  std::size_t count_sources() const;

  std::vector<SupervisedHost> hosts_;
  std::shared_ptr<RunState> state_;
  std::optional<Begin> parked_run_;
  Begin run_;
  std::uint64_t runs_ = 0;
  bool wired_ = false;
  bool running_ = false;
  bool started_ = false;
  bool stop_wanted_ = false;
  bool pausing_ = false;
  bool stopping_ = false;
  std::size_t prepared_ = 0;
  std::size_t finished_ = 0;
  std::size_t paused_ = 0;
  std::int64_t furthest_step_ = 0;
};

}  // namespace troupe
