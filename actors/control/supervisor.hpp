#pragma once

#include <caf/event_based_actor.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/actors/control/run_control.hpp"
#include "troupe/actors/messages/messages.hpp"

namespace troupe {

/// An actor of a part, and the data with which the supervisor wires and watches it.
struct SupervisedActor {
  caf::actor actor;
  std::string name;
  bool has_source = false;
  std::shared_ptr<const ExecutorStatus> status;
  Wire wire;
};

/// Supervises the actors of one part of a plan, which is in one process: wires them, passes the orders of the run
/// control on to them, and reports to the run control when all of them have carried out an order. When an actor dies,
/// the supervisor gives the run up. When the supervisor ends, all these actors stop. On AbortRun the supervisor gives
/// the run up and calls `abort`, which must end every wait of the actors for other processes.
class Supervisor : public caf::event_based_actor {
 public:
  Supervisor(caf::actor_config& config, std::vector<SupervisedActor> actors, std::shared_ptr<RunControl> control,
             int process, std::function<void(const FailurePtr&)> abort);

  caf::behavior make_behavior() override;
  const char* name() const override { return "troupe.supervisor"; }
  void on_exit() override;

 private:
  void wire_all();
  void prepared(std::int64_t end_step);
  void actor_died(const SupervisedActor& dead, const caf::error& reason);
  template <class Order>
  void pass_on(const Order& order, bool sources_only);
  std::size_t sources() const;

  std::vector<SupervisedActor> actors_;
  std::shared_ptr<RunControl> control_;
  int process_;
  std::function<void(const FailurePtr&)> abort_;
  int part_ = -1;
  bool wired_ = false;
  std::size_t prepared_ = 0;
  std::size_t finished_ = 0;
  std::size_t paused_ = 0;
  std::int64_t end_step_ = kLastStep;
  std::int64_t furthest_step_ = 0;
};

}  // namespace troupe
