#include "troupe/ops/pipeline/parallel_rows.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace troupe {

/// A job that waits for a thread, runs or is done. It is shared by the reader and the executor.
struct ParallelRows::Started {
  enum class State { waits, runs, done };

  explicit Started(Job one) : job(std::move(one)) {}

  /// Runs the job, unless another thread has begun it. Returns whether this call has run it.
  bool run() {
    auto expected = State::waits;
    if (!state.compare_exchange_strong(expected, State::runs)) return false;
    try {
      job(groups);
    } catch (...) {
      error = std::current_exception();
    }
    job = nullptr;
    state = State::done;
    state.notify_all();
    return true;
  }
  /// Waits until the job is done, if a thread has begun it. A job that waits never runs after this call.
  void cancel() {
    auto expected = State::waits;
    if (!state.compare_exchange_strong(expected, State::done)) state.wait(State::runs);
  }

  Job job;
  std::atomic<State> state = State::waits;
  std::vector<RowGroup> groups;
  std::exception_ptr error;
};

ParallelRows::ParallelRows(RowExecutor* executor, MakeJob make_job)
    : executor_(executor),
      // Two for each thread, so that a thread finds the next job when it has finished one.
      most_jobs_(executor == nullptr ? 1 : 2 * static_cast<std::size_t>(executor->threads())),
      make_job_(std::move(make_job)) {}

void ParallelRows::start_jobs() {
  // While the first job is done, at most one job more is made than is taken: a source that waits for its rows
  // would delay the rows that are there.
  constexpr int kJobsOfTake = 2;
  for (int made = 0; !ended_ && jobs_.size() < most_jobs_; ++made) {
    if (made >= kJobsOfTake && jobs_.front()->state == Started::State::done) return;
    auto job = make_job_();
    ended_ = job == nullptr;
    if (ended_) return;
    jobs_.push_back(std::make_shared<Started>(std::move(job)));
    if (executor_ != nullptr) executor_->run([started = jobs_.back()] { started->run(); });
  }
}

bool ParallelRows::take_first() {
  try {
    start_jobs();
  } catch (...) {
    // The jobs before come first.
    ended_ = true;
    jobs_.push_back(std::make_shared<Started>(
        [error = std::current_exception()](std::vector<RowGroup>&) { std::rethrow_exception(error); }));
  }
  if (jobs_.empty()) return false;
  auto& first = *jobs_.front();
  if (!first.run()) {
    // Another thread computes the first job: compute the next ones meanwhile.
    for (std::size_t i = 1; i < jobs_.size() && first.state != Started::State::done; ++i) jobs_[i]->run();
    first.state.wait(Started::State::runs);
  }
  groups_ = std::move(first.groups);
  error_ = first.error;
  given_ = 0;
  jobs_.pop_front();
  return true;
}

bool ParallelRows::next(RowGroup& group) {
  while (given_ == groups_.size()) {
    if (error_ != nullptr) std::rethrow_exception(error_);
    if (!take_first()) return false;
  }
  group = std::move(groups_[given_++]);
  return true;
}

void ParallelRows::clear() {
  for (const auto& job : jobs_) job->cancel();
  jobs_.clear();
  groups_.clear();
  given_ = 0;
  error_ = nullptr;
  ended_ = false;
}

}  // namespace troupe
