#pragma once

#include <functional>
#include <memory>

#include "troupe/transport/hierarchy/stage_queue.hpp"

namespace troupe::hierarchy {

/// The work of a staged collective.
class StagedWork : public HostWork {
 public:
  using GiveUp = std::function<void(const FailurePtr& failure)>;

  /// Begins the collective for so many ranks of this process. `give_up` is called if the collective fails, or is
  /// destroyed before it is complete: no rank may wait for it.
  StagedWork(std::shared_ptr<StageQueue> queue, Stages stages, GiveUp give_up, std::size_t ranks = 1);
  ~StagedWork() override;

  bool advance(std::size_t local) override;
  std::string waits_for(std::size_t /*local*/) const override { return queue_->waits_for(*collective_); }
  void listen(std::size_t local, ProgressListener listener) override {
    collective_->listeners->set(local, std::move(listener));
  }

 protected:
  const std::shared_ptr<StagedCollective>& collective() const { return collective_; }

 private:
  /// Returns the result of the function. If it throws, the group is given up first.
  template <class Function>
  auto or_give_up(Function function);

  std::shared_ptr<StageQueue> queue_;
  GiveUp give_up_;
  std::shared_ptr<StagedCollective> collective_;
};

}  // namespace troupe::hierarchy
