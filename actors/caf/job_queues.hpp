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

/// The jobs of an actor system's workers: a queue for each, first in, first out. A job is pushed to the queue of the
/// worker whose cache is likely to hold what it works on. A worker whose queue is empty looks around for a while, if
/// its process has a core for every thread that is awake: it takes a job of another that has been left waiting for
/// longer than a hand-over takes. Then it takes any job, and if there are none it sleeps; to wake it costs as much as
/// several messages. Thread-safe; each worker is one thread.
class JobQueues {
 public:
  /// `poll`: for how long a worker looks around before it sleeps.
  JobQueues(std::size_t workers, std::chrono::microseconds poll);

  std::size_t workers() const { return queues_.size(); }
  void push(std::size_t worker, caf::resumable* job);
  /// Waits for a job; one of the worker's own queue comes first.
  caf::resumable* pop(std::size_t worker);
  /// A job of any queue, or nullptr.
  caf::resumable* try_pop();

 private:
  struct alignas(64) Queue {
    std::mutex mutex;
    std::deque<caf::resumable*> jobs;
    std::atomic<std::size_t> size{0};
    /// Jobs ever taken: while this stands still, the jobs wait.
    std::atomic<std::size_t> taken{0};
    /// For the worker alone: `taken` of all queues when it looked last.
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
