#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

/// The returns of ranks that were gone: their numbers, and the callbacks of Cluster::on_returned(). Thread-safe.
class Returns {
 public:
  /// Adds a callback; destroying the handle removes it.
  std::shared_ptr<const Cluster::OnReturned> add(Cluster::OnReturned callback);
  /// Counts a return of a rank, and calls the callbacks.
  void count(int rank);
  /// Returns how often a rank has returned.
  int of(int rank) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<const Cluster::OnReturned>> callbacks_;
  std::map<int, int> counts_;  // by rank
};

}  // namespace troupe
