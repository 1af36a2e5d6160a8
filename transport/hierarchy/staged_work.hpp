#pragma once

#include <functional>
#include <memory>

#include "troupe/transport/hierarchy/stage_queue.hpp"

namespace troupe::hierarchy {

/// The work of a staged collective.
class StagedWork final : public Work {
 public:
  /// `give_up` is called if the collective fails, or is destroyed before it is complete: no rank may wait for it.
  StagedWork(std::shared_ptr<StageQueue> queue, Stages stages, ProgressListener on_progress,
             std::function<void(const FailurePtr&)> give_up);
  ~StagedWork() override;

  bool advance() override;
  std::string waits_for() const override { return queue_->waits_for(*collective_); }

 private:
  /// What the function returns. If it throws, the group is given up first.
  template <class Function>
  auto or_give_up(Function function);

  std::shared_ptr<StageQueue> queue_;
  std::function<void(const FailurePtr&)> give_up_;
  std::shared_ptr<StagedCollective> collective_;
};

}  // namespace troupe::hierarchy
