#include "troupe/actors/caf/job_queues.hpp"

#include <set>
#include <thread>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"

using namespace troupe;

namespace {

/// A job that is never run: only its address counts.
caf::resumable* job_number(std::size_t i) {
  static char jobs[4096];
  return reinterpret_cast<caf::resumable*>(&jobs[i]);
}

}  // namespace

TEST_CASE("a worker takes its own jobs first, in order, then those of the others") {
  JobQueues queues(2, std::chrono::microseconds(0));
  queues.push(1, job_number(10));
  queues.push(0, job_number(1));
  queues.push(0, job_number(2));
  CHECK(queues.pop(0) == job_number(1));
  CHECK(queues.pop(0) == job_number(2));
  CHECK(queues.pop(0) == job_number(10));
  CHECK(queues.try_pop() == nullptr);
}

TEST_CASE("workers that sleep leave their cores to threads that look for work") {
  const auto workers = static_cast<std::size_t>(usable_cores()) + 1;
  JobQueues queues(workers, std::chrono::microseconds(0));
  CHECK_FALSE(BusyThreads::fit());
  std::vector<std::thread> threads;
  for (std::size_t worker = 0; worker < workers; ++worker)
    threads.emplace_back([&queues, worker] { queues.pop(worker); });
  CHECK(testing::eventually(BusyThreads::fit));
  for (std::size_t worker = 0; worker < workers; ++worker) queues.push(worker, job_number(worker));
  for (auto& thread : threads) thread.join();
  CHECK_FALSE(BusyThreads::fit());
}

TEST_CASE("every job is taken exactly once, while any threads push and any workers sleep") {
  constexpr std::size_t kWorkers = 3, kJobs = 4000;
  for (const auto poll : {std::chrono::microseconds(0), std::chrono::microseconds(20)}) {
    JobQueues queues(kWorkers, poll);
    std::vector<std::vector<caf::resumable*>> taken(kWorkers);
    std::vector<std::thread> workers;
    for (std::size_t worker = 0; worker < kWorkers; ++worker)
      workers.emplace_back([&, worker] {
        while (auto* job = queues.pop(worker)) {
          if (job == job_number(0)) return;
          taken[worker].push_back(job);
          // The last quarter is pushed by the workers.
          const auto number =
              static_cast<std::size_t>(reinterpret_cast<char*>(job) - reinterpret_cast<char*>(job_number(0)));
          if (number <= kJobs / 4) queues.push(worker, job_number(number + 3 * kJobs / 4));
        }
      });
    for (std::size_t i = 1; i <= 3 * kJobs / 4; ++i) queues.push(i % kWorkers, job_number(i));
    // Each ends one worker; what it has not taken then is still in the queues.
    for (std::size_t worker = 0; worker < kWorkers; ++worker) queues.push(worker, job_number(0));
    for (auto& worker : workers) worker.join();
    std::multiset<caf::resumable*> all;
    for (const auto& list : taken) all.insert(list.begin(), list.end());
    while (auto* job = queues.try_pop()) all.insert(job);
    CHECK(all.size() == kJobs);
    CHECK(std::set<caf::resumable*>(all.begin(), all.end()).size() == kJobs);
  }
}
