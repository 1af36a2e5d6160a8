#include "troupe/actors/caf/scheduler.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/detail/actor_system_access.hpp>
#include <caf/detail/cleanup_and_release.hpp>
#include <deque>
#include <mutex>

#include "troupe/actors/caf/thread_start.hpp"
#include "troupe/actors/caf/work_sharing_v1.hpp"

namespace troupe {

namespace {

/// A scheduler without threads: run_one() runs the actors.
class OneByOne final : public caf::scheduler {
 public:
  void schedule(caf::resumable* job) override {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
  }
  void delay(caf::resumable* job) override { schedule(job); }
  void start() override {}
  void stop() override {
    while (auto* job = take([](std::size_t) { return std::size_t{0}; })) caf::detail::cleanup_and_release(job);
  }

  bool run_one(const std::function<std::size_t(std::size_t count)>& draw) {
    auto* job = take(draw);
    if (job == nullptr) return false;
    if (job->resume(this, 1) == caf::resumable::resume_later)
      schedule(job);
    else
      caf::intrusive_ptr_release(job);
    return true;
  }

 private:
  caf::resumable* take(const std::function<std::size_t(std::size_t count)>& draw) {
    const std::lock_guard lock(mutex_);
    if (jobs_.empty()) return nullptr;
    std::swap(jobs_.front(), jobs_[draw(jobs_.size())]);
    auto* job = jobs_.front();
    jobs_.pop_front();
    return job;
  }

  std::mutex mutex_;
  std::deque<caf::resumable*> jobs_;
};

/// An actor system with OneByOne or WorkSharing as its scheduler. CAF calls set_up() while it constructs the actor
/// system, before it would make its default scheduler.
class System final : public caf::actor_system {
 public:
  System(caf::actor_system_config& config, const SchedulerOptions& options)
      : caf::actor_system(config, &System::set_up, const_cast<SchedulerOptions*>(&options)) {}

 private:
  static void set_up(caf::actor_system& system, caf::actor_system_config&, void* data) {
    const auto& options = *static_cast<const SchedulerOptions*>(data);
    caf::detail::actor_system_access access{system};
    if (options.one_by_one)
      access.scheduler(std::make_unique<OneByOne>());
    else
      access.scheduler(std::make_unique<WorkSharing>(system, options.workers, options.busy_poll));
  }
};

}  // namespace

std::unique_ptr<caf::actor_system> make_actor_system(caf::actor_system_config& config,
                                                     const SchedulerOptions& options) {
  config.add_thread_hook<ThreadStart>(options.on_thread_start);
  return std::make_unique<System>(config, options);
}

bool run_one(caf::actor_system& system, const std::function<std::size_t(std::size_t count)>& draw) {
  return dynamic_cast<OneByOne&>(system.scheduler()).run_one(draw);
}

void prefer_worker(caf::actor_system& system, const caf::actor& actor, std::size_t worker) {
  if (auto* scheduler = dynamic_cast<WorkSharing*>(&system.scheduler())) scheduler->homes().set(actor.id(), worker);
}

}  // namespace troupe
