#include "troupe/actors/caf/job_queues.hpp"

#include "troupe/actors/threads/spin_pause.hpp"

namespace troupe {

namespace {

/// The number of times that a worker polls its own queue between two scans of the other queues. These polls take one or
/// two microseconds, in which the owner of another queue can take a job that was just pushed to it.
constexpr int kPollsPerScan = 64;

}  // namespace

JobQueues::JobQueues(std::size_t workers, std::chrono::microseconds poll)
    : poll_(poll), busy_threads_(static_cast<int>(workers)) {
  for (std::size_t i = 0; i < workers; ++i) {
    queues_.push_back(std::make_unique<Queue>());
    queues_.back()->seen.resize(workers);
  }
}

void JobQueues::push(std::size_t worker, caf::resumable* job) {
  auto& queue = *queues_[worker];
  // The lock is held until this function returns: the job may be the last one of the actor system, and once it has run
  // the queues may be destroyed.
  std::lock_guard lock(queue.mutex);
  queue.jobs.push_back(job);
  queue.size.store(queue.jobs.size());
  // The accesses to the queue's size and to sleeping_ are sequentially consistent: either this thread sees the sleeping
  // worker, or that worker, which checks the queues before it sleeps, sees the job. A polling worker scans all queues
  // before it sleeps.
  wake_one();
}

void JobQueues::wake_one() {
  if (sleeping_.load() == 0 || polling_.load() > 0) return;
  std::lock_guard lock(sleep_mutex_);
  pushed_.notify_one();
}

caf::resumable* JobQueues::take(Queue& queue) {
  if (queue.size.load() == 0) return nullptr;
  std::lock_guard lock(queue.mutex);
  if (queue.jobs.empty()) return nullptr;
  auto* job = queue.jobs.front();
  queue.jobs.pop_front();
  queue.size.store(queue.jobs.size());
  queue.taken.fetch_add(1, std::memory_order_relaxed);
  return job;
}

caf::resumable* JobQueues::try_pop() {
  for (auto& queue : queues_)
    if (auto* job = take(*queue)) return job;
  return nullptr;
}

bool JobQueues::any() const {
  for (const auto& queue : queues_)
    if (queue->size.load() > 0) return true;
  return false;
}

/// Scans the queues of the other workers, and takes a job from the first queue that has one and from which nothing was
/// taken since this worker's last scan. Null if there is no such queue.
caf::resumable* JobQueues::take_waiting(std::size_t worker) {
  auto& seen = queues_[worker]->seen;
  for (std::size_t i = 1; i < queues_.size(); ++i) {
    const auto other = (worker + i) % queues_.size();
    auto& queue = *queues_[other];
    const auto taken = queue.taken.load(std::memory_order_relaxed);
    const bool waits = queue.size.load() > 0 && taken == seen[other];
    seen[other] = taken;
    if (!waits) continue;
    if (auto* job = take(queue)) return job;
  }
  return nullptr;
}

caf::resumable* JobQueues::poll(std::size_t worker) {
  auto& queue = *queues_[worker];
  for (std::size_t i = 0; i < queues_.size(); ++i) queue.seen[i] = queues_[i]->taken.load(std::memory_order_relaxed);
  const auto until = std::chrono::steady_clock::now() + poll_;
  do {
    for (int i = 0; i < kPollsPerScan; ++i) {
      if (auto* job = take(queue)) return job;
      spin_pause();
    }
    if (auto* job = take_waiting(worker)) return job;
  } while (std::chrono::steady_clock::now() < until);
  return nullptr;
}

caf::resumable* JobQueues::look(std::size_t worker) {
  caf::resumable* job = nullptr;
  if (poll_.count() > 0 && BusyThreads::fit()) {
    polling_.fetch_add(1);
    job = poll(worker);
    polling_.fetch_sub(1);
  } else {
    job = take(*queues_[worker]);
  }
  return job != nullptr ? job : try_pop();
}

caf::resumable* JobQueues::pop(std::size_t worker) {
  if (auto* job = take(*queues_[worker])) return job;
  while (true) {
    if (auto* job = look(worker)) {
      // Wakes another worker for the jobs that are left: jobs that were pushed while this worker polled have woken no
      // worker, and several jobs that were pushed before this worker woke may have woken this worker alone.
      if (any()) wake_one();
      return job;
    }
    std::unique_lock lock(sleep_mutex_);
    const BusyThreads::Asleep asleep;
    sleeping_.fetch_add(1);
    pushed_.wait(lock, [this] { return any(); });
    sleeping_.fetch_sub(1);
  }
}

}  // namespace troupe
