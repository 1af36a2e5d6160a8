#pragma once

#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "troupe/ops/pipeline/row_executor.hpp"

namespace troupe::ops_test {

/// An executor that never runs a job.
class NeverRuns final : public RowExecutor {
 public:
  int threads() const override { return 3; }
  void run(std::function<void()>) override {}
};

/// An executor with a new thread for each job.
class RunsApart final : public RowExecutor {
 public:
  int threads() const override { return 3; }
  void run(std::function<void()> job) override {
    const std::lock_guard lock(mutex_);
    threads_.emplace_back(std::move(job));
  }

 private:
  std::mutex mutex_;
  std::vector<std::jthread> threads_;
};

/// An executor that runs each job when the next one comes.
class RunsLate final : public RowExecutor {
 public:
  int threads() const override { return 3; }
  void run(std::function<void()> job) override {
    if (last_) last_();
    last_ = std::move(job);
  }

 private:
  std::function<void()> last_;
};

}  // namespace troupe::ops_test
