#pragma once

#include "troupe/transport/device/group_watch.hpp"

namespace troupe::device {

/// A collective that is completely launched on the streams of all devices of this process. Nothing is left for
/// advance() to do; the events of done() say when the devices have completed the collective.
class LaunchedWork final : public Work, public Watched {
 public:
  /// `local` has the ranks of this process, `ranks` is the number of all ranks; both only name ranks in error texts.
  /// `done` has, for each local rank, the event after which its part of the collective is complete.
  LaunchedWork(std::string what, Communicator::Parts parts, std::vector<DeviceRank> local, std::vector<Event> done,
               int ranks)
      : Watched(std::move(what), parts), local_(std::move(local)), done_(std::move(done)), ranks_(ranks) {}

  bool advance(std::size_t /*local*/) override { return true; }
  const Event& done(std::size_t local) const override { return done_.at(local); }
  std::string waits_for(std::size_t /*local*/) const override { return description(); }

  bool is_done() const override { return std::ranges::all_of(done_, &Event::done); }
  std::string description() const override;

 private:
  const std::vector<DeviceRank> local_;
  const std::vector<Event> done_;
  const int ranks_;
};

/// Names ranks with their devices: returns `rank 1 (cuda:1)` for one rank, or `ranks 1 (cuda:1) and 2 (cuda:2)` for
/// two.
std::string names_of(const std::vector<DeviceRank>& ranks);
/// Names the ranks below `ranks` that are not in `local`: returns `rank 1`, or `ranks 2 and 3`.
std::string names_of_others(const std::vector<DeviceRank>& local, int ranks);

}  // namespace troupe::device
