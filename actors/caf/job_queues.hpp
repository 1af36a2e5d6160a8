#pragma once

#include <atomic>
#include <caf/resumable.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "troupe/actors/threads/busy_threads.hpp"

namespace troupe {

/// The job queues of an actor system's workers: one queue a worker, first in, first out. Almost every job is an actor
/// that has mail. A job is pushed to the queue of the worker whose cache is likely to hold the job's data, and a worker
/// takes jobs of its own queue first. If its queue is empty and the process has a core for every awake thread, the
/// worker polls for a limited time: it then also takes a job of another queue from which nothing was taken between two
/// scans by this worker. After that it takes any job of any queue, or sleeps until a job is pushed. Polling pays
/// because waking a worker costs as much as several messages. Thread-safe; each worker is one thread.
class JobQueues {
 public:
  /// `poll` is the time for which a worker polls before it sleeps; 0: no worker polls.
  JobQueues(std::size_t workers, std::chrono::microseconds poll);

  std::size_t workers() const { return queues_.size(); }
  void push(std::size_t worker, caf::resumable* job);
  /// Waits for a job, and takes it. Called on the thread of the worker, whose own queue comes first.
  caf::resumable* pop(std::size_t worker);
  /// Takes a job of any queue; null if all queues are empty.
  caf::resumable* try_pop();

 private:
  struct alignas(64) Queue {
    std::mutex mutex;
    std::deque<caf::resumable*> jobs;
    std::atomic<std::size_t> size{0};
    /// Number of jobs ever taken from this queue. While it does not change, the jobs in the queue wait.
    std::atomic<std::size_t> taken{0};
    /// By queue: `taken` at the last scan of the worker that owns this queue. Used on the thread of that worker.
    std::vector<std::size_t> seen;
  };

  static caf::resumable* take(Queue& queue);
  caf::resumable* look(std::size_t worker);
  caf::resumable* poll(std::size_t worker);
  caf::resumable* take_waiting(std::size_t worker);
  bool any() const;
  void wake_one();

  std::vector<std::unique_ptr<Queue>> queues_;
  std::chrono::microseconds poll_;
  BusyThreads busy_threads_;
  std::atomic<std::size_t> polling_{0}, sleeping_{0};
  std::mutex sleep_mutex_;
  std::condition_variable pushed_;
};

}  // namespace troupe
