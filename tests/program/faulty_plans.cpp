// Programs that do what they should not, to see from outside how they end: an exit status other than 0 and one clear
// line.

#include <sys/resource.h>
#include <unistd.h>
#include <caf/event_based_actor.hpp>
#include <fstream>
#include <future>
#include <iostream>
#include <map>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/plans/test_plans.hpp"

namespace {

using namespace troupe;
using namespace troupe::testing;

const WaitOptions kSoon{.stall_limit = std::chrono::milliseconds(200), .interval = std::chrono::milliseconds(10)};

void run(const Plan& plan) {
  Runtime runtime({.workers = 2});
  SpawnedPlan spawned(runtime, split(plan));
  spawned.start({0, 100, 0});
  spawned.wait({.stall_limit = patience()});
}

/// Runs a plan that stalls after an event: before it, a busy machine may keep the actors waiting longer than the limit.
void run_until_stall(const Plan& plan, std::promise<void>& event) {
  Runtime runtime({.workers = 2});
  SpawnedPlan spawned(runtime, split(plan));
  spawned.start({0, 100, 0});
  event.get_future().wait_for(patience());
  spawned.wait(kSoon);
}

void cycle_without_token() {
  Plan plan;
  const auto a = plan.add(function_actor("alpha", 1, {}));
  const auto b = plan.add(function_actor("beta", 1, {}));
  plan.connect(a, 0, b);
  plan.connect(b, 0, a);
  run(plan);
}

void shapes_that_do_not_fit() {
  GraphBuilder builder;
  matmul(builder.input("x", {4, 3}), builder.input("y", {5, 2}));
}

void kernel_that_throws() {
  Plan plan;
  const auto source = plan.add(counting_source("source", 100));
  plan.connect(source, 0, plan.add(function_actor("kernel", 0, [](const Firing& firing) {
    if (firing.step == 7) throw std::runtime_error("[kernel] broke");
  })));
  run(plan);
}

/// Takes a tensor and never returns it, or dies of it.
class BadConsumer : public PortActor {
 public:
  BadConsumer(caf::actor_config& config, bool dies) : PortActor(config), dies_(dies) {}

 private:
  void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor>) override {
    if (dies_) quit(caf::exit_reason::user_shutdown);
  }
  bool dies_;
};

/// Keeps the tensor that it gets, and tells that it has come.
class Hoarder : public caf::event_based_actor {
 public:
  Hoarder(caf::actor_config& config, std::promise<void>* has_one) : caf::event_based_actor(config), has_one_(has_one) {}
  caf::behavior make_behavior() override {
    return {[this](Wire& wire) { tell(*this, wire.supervisor, Prepared{}); },
            [this](const PrepareRun&) { tell(*this, caf::actor_cast<caf::actor>(current_sender()), Prepared{}); },
            [this](const TensorReady&) { has_one_->set_value(); },
            [](const DataEnded&) {},
            [](const Describe&) {},
            [this](const Stop&) { quit(); }};
  }

 private:
  std::promise<void>* has_one_;
};

void actor_that_dies() {
  Plan plan;
  const auto source = plan.add(counting_source("source", 100));
  plan.connect(source, 0, plan.add(external<BadConsumer>("mortal", {.inputs = {{Shape{2}, DType::float32}}}, true)));
  run(plan);
}

void actor_that_hoards() {
  std::promise<void> has_one;
  Plan plan;
  const auto source = plan.add(counting_source("source", 100));
  plan.connect(source, 0, plan.add(external<Hoarder>("hoarder", {.inputs = {{Shape{2}, DType::float32}}}, &has_one)));
  run_until_stall(plan, has_one);
}

/// Its thread cannot be had back; the process must end all the same.
void kernel_that_hangs() {
  static std::promise<void> stuck, never;
  Plan plan;
  const auto source = plan.add(counting_source("source", 100));
  plan.connect(source, 0, plan.add(function_actor("stuck", 0, [](const Firing& firing) {
    if (firing.step != 2) return;
    stuck.set_value();
    never.get_future().wait();
  })));
  Runtime runtime({.workers = 2});
  SpawnedPlan spawned(runtime, fuse(plan));
  spawned.start({0, 100, 0});
  stuck.get_future().wait_for(patience());
  spawned.wait(kSoon);
}

void threads_that_cannot_be_made() {
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto limit = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{32} << 20);
  const rlimit bytes{limit, limit};
  if (setrlimit(RLIMIT_AS, &bytes) != 0) throw Error("test", "the limit cannot be set");
  const Runtime runtime({.workers = 64});
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> faults{
      {"cycle", cycle_without_token},          {"shapes", shapes_that_do_not_fit},
      {"kernel", kernel_that_throws},          {"dies", actor_that_dies},
      {"hoards", actor_that_hoards},           {"hangs", kernel_that_hangs},
      {"threads", threads_that_cannot_be_made}};
  try {
    faults.at(argc == 2 ? argv[1] : "")();
  } catch (const std::out_of_range&) {
    std::cerr << "usage: faulty_plans cycle|shapes|kernel|dies|hoards|hangs|threads" << std::endl;
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "faulty_plans: " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
