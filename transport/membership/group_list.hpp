#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "troupe/transport/communicator.hpp"

namespace troupe {

/// The communicators that a process has made with other processes of its job. Ends them when a process is lost, so that
/// no caller waits for it. Does not keep the communicators alive. Thread-safe.
class GroupList {
 public:
  /// Adds a communicator whose ranks are in `processes`. Aborts it at once if lose_all() was called before.
  void add(const std::shared_ptr<Communicator>& group, std::vector<int> processes);
  /// Aborts the communicators that have a rank in process `process`, for the reason `why`. Later ones are made with
  /// links, which the caller has failed, or with the process that has returned.
  void lose(int process, const FailurePtr& why);
  /// Aborts all communicators, also those that are added later, for the reason `why`.
  void lose_all(const FailurePtr& why);

 private:
  struct Entry {
    std::weak_ptr<Communicator> group;
    std::vector<int> processes;
  };
  std::vector<std::shared_ptr<Communicator>> alive(int process) const;

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  FailurePtr lost_;
};

}  // namespace troupe
