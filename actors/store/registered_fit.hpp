#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace troupe {

/// A fit that has registered with a store; see StepBoundaries.
struct RegisteredFit {
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  /// Calls make_request, unless the fit is over.
  void request();
  /// Whether the fit uses one of the parameters. Needs no mutex.
  bool uses(const std::set<std::string>& names) const;

  std::set<std::string> parameters;  // the names of all that the fit uses; they never change
  std::mutex request_mutex;          // guards make_request
  std::function<void()> make_request;
  // The mutex of the store guards the others.
  std::thread::id driver = {};  // no thread if none drives the fit now
  bool opens_between_runs = false;
  bool in_run = false;          // from note_run() to open() or close()
  std::uint64_t admits = kAll;  // visits with lower numbers may use parameters that no run writes
  std::chrono::steady_clock::time_point run_begun, last_request;
  bool is_version_wanted = false;         // the next publish() publishes a version
  std::string publish_failure;            // the cause if the last publish() has failed, or empty
  std::uint64_t publish_failed_at = 0;    // the value of State::publish_failures after this failure
  bool is_publish_failure_known = false;  // an access has thrown the failure, or an earlier one without a success since
};

}  // namespace troupe
