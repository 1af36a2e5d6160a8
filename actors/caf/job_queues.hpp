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

/// The job queues of an actor system's workers: one queue a worker, first in, first out. A job is pushed to the queue
/// of the worker whose cache is likely to hold the job's data. A worker with an empty queue polls, if the process has a
/// core for every awake thread: it takes a job of another worker that has waited for longer than a hand-over takes.
/// Then it takes any job. If there is none, it sleeps; waking a worker costs as much as several messages. Thread-safe;
/// each worker is one thread.
class JobQueues {
 public:
  /// `poll` is the time for which a worker polls before it sleeps.
  JobQueues(std::size_t workers, std::chrono::microseconds poll);

  std::size_t workers() const { return queues_.size(); }
  void push(std::size_t worker, caf::resumable* job);
  /// Waits for a job. The worker's own queue comes first.
  caf::resumable* pop(std::size_t worker);
  /// A job of any queue, or nullptr.
  caf::resumable* try_pop();

 private:
  struct alignas(64) Queue {
    std::mutex mutex;
    std::deque<caf::resumable*> jobs;
    std::atomic<std::size_t> size{0};
    /// Number of jobs ever taken. While it does not change, the jobs in the queue wait.
    std::atomic<std::size_t> taken{0};
    /// `taken` of all queues at the worker's last scan. Used by the worker alone.
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
