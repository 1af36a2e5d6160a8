#pragma once

#include <functional>

namespace troupe {

/// Threads that compute rows for the readers of pipelines. Thread-safe.
class RowExecutor {
 public:
  RowExecutor() = default;
  RowExecutor(const RowExecutor&) = delete;
  RowExecutor& operator=(const RowExecutor&) = delete;
  virtual ~RowExecutor() = default;

  /// The number of threads, at least 1.
  virtual int threads() const = 0;
  /// Calls `job` on one of the threads, at any time, or never: a reader computes a row that it needs itself if no
  /// thread has begun it. `job` throws nothing.
  virtual void run(std::function<void()> job) = 0;
};

}  // namespace troupe
