#include "troupe/transport/hierarchy/staged_work.hpp"

namespace troupe::hierarchy {

template <class Function>
auto StagedWork::or_give_up(Function function) {
  try {
    return function();
  } catch (const Aborted& aborted) {
    // The ranks of other machines do not share the communicator that failed.
    give_up_(aborted.failure());
    throw;
  } catch (...) {
    give_up_(failure_now());
    throw;
  }
}

StagedWork::StagedWork(std::shared_ptr<StageQueue> queue, Stages stages, GiveUp give_up, std::size_t ranks)
    : queue_(std::move(queue)), give_up_(std::move(give_up)) {
  or_give_up([&] { collective_ = queue_->add(std::move(stages), ranks); });
}

StagedWork::~StagedWork() {
  if (!queue_->remove(*collective_))
    give_up_(std::make_shared<Failure>(
        Failure{.kind = FailureKind::aborted, .what = "[communicator] a collective was given up half-way"}));
  queue_->drop_stage(*collective_);
}

bool StagedWork::advance(std::size_t /*local*/) {
  return or_give_up([&] { return queue_->advance(*collective_); });
}

}  // namespace troupe::hierarchy
