#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/ops/pipeline/row.hpp"
#include "troupe/ops/pipeline/row_executor.hpp"

namespace troupe {

/// The rows that a transform makes of one row of its input: one row for map(), none or one for filter(), any number for
/// flat_map().
using RowGroup = std::vector<Row>;

/// Groups of rows that jobs compute ahead on the threads of an executor, in the order in which the jobs were made. A
/// caller that needs a group runs jobs itself until the group is there, so that busy threads delay it no longer than a
/// job that has begun. Used on one thread at a time.
class ParallelRows {
 public:
  /// Adds the groups of a job one by one. May run on any thread.
  using Job = std::function<void(std::vector<RowGroup>& groups)>;
  /// Makes the next job; null if there is none. Runs on the thread that calls next().
  using MakeJob = std::function<Job()>;

  /// With a null executor, jobs run in next(). The executor must outlive the object.
  ParallelRows(RowExecutor* executor, MakeJob make_job);
  ParallelRows(const ParallelRows&) = delete;
  ParallelRows& operator=(const ParallelRows&) = delete;
  /// Waits for the jobs that have begun.
  ~ParallelRows() { clear(); }

  /// Sets `group` to the next group. Returns false if there is none. An exception of a job, or of `make_job`, comes
  /// after the groups before it; clear() must follow it.
  bool next(RowGroup& group);
  /// Drops all jobs and waits for those that have begun.
  void clear();

 private:
  struct Started;

  void start_jobs();
  bool take_first();

  RowExecutor* executor_;
  std::size_t most_jobs_;
  MakeJob make_job_;
  std::deque<std::shared_ptr<Started>> jobs_;
  bool ended_ = false;  // whether make_job_ has returned null
  std::vector<RowGroup> groups_;
  std::size_t given_ = 0;  // the number of groups_ that next() has returned
  std::exception_ptr error_;
};

}  // namespace troupe
