#pragma once

#include <atomic>
#include <caf/scheduler.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "troupe/actors/caf/home_workers.hpp"
#include "troupe/actors/caf/job_queues.hpp"

namespace troupe {

/// A scheduler for CAF 1.x: its workers, each one thread, take jobs from JobQueues. An actor that gets mail is pushed
/// to the queue of its home worker.
class WorkSharing final : public caf::scheduler {
 public:
  WorkSharing(caf::actor_system& system, std::size_t workers, std::chrono::microseconds poll);
  ~WorkSharing() override;

  void schedule(caf::resumable* job) override;
  void delay(caf::resumable* job) override { schedule(job); }
  void start() override;
  void stop() override;

  HomeWorkers& homes() { return homes_; }

 private:
  class Worker;

  void push(caf::resumable* job, std::size_t otherwise) {
    jobs_.push(homes_.of(job, otherwise) % jobs_.workers(), job);
  }

  caf::actor_system& system_;
  JobQueues jobs_;
  HomeWorkers homes_;
  std::atomic<std::size_t> next_worker_{0};
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace troupe
