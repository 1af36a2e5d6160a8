#include "troupe/actors/caf/work_sharing_v1.hpp"

#include <caf/actor_system.hpp>
#include <caf/detail/cleanup_and_release.hpp>
#include <caf/resumable.hpp>
#include <caf/thread_owner.hpp>
#include <thread>

#include "troupe/actors/caf/scheduler.hpp"

namespace troupe {

namespace {

/// A job that ends the worker that runs it.
class Shutdown final : public caf::resumable {
 public:
  resume_result resume(caf::scheduler*, std::size_t) override { return shutdown_execution_unit; }
  void ref_resumable() const noexcept override {}
  void deref_resumable() const noexcept override {}
};

}  // namespace

/// A thread that runs actors. While it runs one, the Worker is the scheduler that CAF sees: an actor that gets mail
/// from the running actor is pushed to the queue of its home worker (see HomeWorkers), or to the queue of this worker
/// if it has no home worker.
class WorkSharing::Worker final : public caf::scheduler {
 public:
  Worker(WorkSharing& all, std::size_t number) : all_(all), number_(number) {}

  void schedule(caf::resumable* job) override { all_.push(job, number_); }
  void delay(caf::resumable* job) override { schedule(job); }
  void start() override {
    thread_ = all_.system_.launch_thread("troupe.worker", caf::thread_owner::scheduler, [this] { run(); });
  }
  void stop() override { thread_.join(); }

 private:
  void run() {
    while (true) {
      auto* job = all_.jobs_.pop(number_);
      const auto result = job->resume(this, kMessagesPerTurn);
      if (result == caf::resumable::shutdown_execution_unit) return;
      if (result == caf::resumable::resume_later)
        schedule(job);
      else
        caf::intrusive_ptr_release(job);
    }
  }

  WorkSharing& all_;
  std::size_t number_;
  std::thread thread_;
};

WorkSharing::WorkSharing(caf::actor_system& system, std::size_t workers, std::chrono::microseconds poll)
    : system_(system), jobs_(workers, poll) {
  for (std::size_t i = 0; i < workers; ++i) workers_.push_back(std::make_unique<Worker>(*this, i));
}

WorkSharing::~WorkSharing() = default;

void WorkSharing::schedule(caf::resumable* job) {
  push(job, next_worker_.fetch_add(1, std::memory_order_relaxed));
}

void WorkSharing::start() {
  for (const auto& worker : workers_) worker->start();
}

void WorkSharing::stop() {
  Shutdown shutdown;
  for (std::size_t i = 0; i < workers_.size(); ++i) jobs_.push(i, &shutdown);
  for (const auto& worker : workers_) worker->stop();
  while (auto* job = jobs_.try_pop()) caf::detail::cleanup_and_release(job);
}

}  // namespace troupe
