#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/actors/store/store_parts.hpp"
#include "troupe/ops/data/dataset.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

class Cluster;
class Communicator;
class Recording;
class Strategy;
struct JobNews;
struct Plan;

/// What a training has to do with the other processes of its job, if there are any, and with the stores of its other
/// parts in this one. Processes that the strategy can do without take part in runs, and hold no parameters.
class SharedTraining {
 public:
  /// `cluster` may be null; `stores` are those of the parts in this process. Waits for others up to `limit`.
  SharedTraining(std::shared_ptr<Cluster> cluster, const Strategy& strategy, Stores stores,
                 std::chrono::milliseconds limit);

  const std::shared_ptr<Cluster>& cluster() const { return cluster_; }
  bool has_others() const;
  bool is_first() const;
  /// The others could do without this process.
  bool takes_part_only() const;

  // What all processes but those do at the same time.

  /// The data as the processes share them. Throws Error if they differ where they must not.
  Dataset share(const Dataset& data);
  /// Before a plan is spawned: brings all to the values of the first process, and all parts of this one to the newest.
  void agree_on_values();
  /// After a run: brings all to what single processes hold, and what these have recorded to the first one.
  void end_run(const Plan& trained, Recording* record);
  /// Each has written some rows, the others are zero: now all have all.
  void gather_rows(const Tensor& rows);

  /// The first process tells those that take part only.
  void tell(const JobNews& news) const;

 private:
  Communicator& holders();

  std::shared_ptr<Cluster> cluster_;
  const Strategy& strategy_;
  Stores stores_;
  std::chrono::milliseconds limit_;
  std::vector<int> holding_;  // processes that hold parameters
  std::uint64_t number_ = 0;
  std::shared_ptr<Communicator> holders_;
  std::shared_ptr<const std::function<void(const FailurePtr&)>> on_lost_;
};

}  // namespace troupe
