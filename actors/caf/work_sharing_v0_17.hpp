#pragma once

#include <atomic>
#include <caf/policy/unprofiled.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include "troupe/actors/caf/home_workers.hpp"
#include "troupe/actors/caf/job_queues.hpp"

namespace troupe {

/// The policy by which CAF 0.17's scheduler (caf::scheduler::coordinator) distributes jobs: it pushes a job to the
/// queue of one worker in JobQueues, and workers without jobs take jobs from other queues. The number of workers and
/// the time of polling, in microseconds, are read from the configuration: `scheduler.max-threads` and kPollOption.
class WorkSharing : public caf::policy::unprofiled {
 public:
  static constexpr const char* kPollOption = "troupe.busy-poll";

  struct coordinator_data {
    explicit coordinator_data(caf::scheduler::abstract_coordinator* coordinator);
    void push(caf::resumable* job, std::size_t otherwise) { jobs.push(homes.of(job, otherwise) % jobs.workers(), job); }

    JobQueues jobs;
    HomeWorkers homes;
    std::atomic<std::size_t> next_worker{0};
  };
  struct worker_data {
    explicit worker_data(caf::scheduler::abstract_coordinator*) {}
  };

  // The functions that caf::scheduler::worker and coordinator require of a policy.

  template <class Coordinator>
  void central_enqueue(Coordinator* self, caf::resumable* job) {
    d(self).push(job, d(self).next_worker.fetch_add(1, std::memory_order_relaxed));
  }
  template <class Worker>
  void external_enqueue(Worker* self, caf::resumable* job) {
    d(self->parent()).push(job, self->id());
  }
  template <class Worker>
  void internal_enqueue(Worker* self, caf::resumable* job) {
    d(self->parent()).push(job, self->id());
  }
  template <class Worker>
  void resume_job_later(Worker* self, caf::resumable* job) {
    d(self->parent()).push(job, self->id());
  }
  /// Runs jobs that are actors, and returns the first job of another kind, which CAF's worker runs. CAF's worker would
  /// cast each job dynamically to learn the actor's id for CAF's log, which takes an eighth of the time of a message.
  template <class Worker>
  caf::resumable* dequeue(Worker* self) {
    while (true) {
      auto* job = d(self->parent()).jobs.pop(self->id());
      if (job->subtype() != caf::resumable::scheduled_actor) return job;
      if (job->resume(self, self->max_throughput()) == caf::resumable::resume_later)
        resume_job_later(self, job);
      else
        caf::intrusive_ptr_release(job);
    }
  }
  template <class Worker, class Function>
  void foreach_resumable(Worker*, Function) {}
  template <class Coordinator, class Function>
  void foreach_central_resumable(Coordinator* self, Function function) {
    while (auto* job = d(self).jobs.try_pop()) function(job);
  }
};

}  // namespace troupe
