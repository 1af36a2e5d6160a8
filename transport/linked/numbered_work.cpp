#include "troupe/transport/linked/numbered_work.hpp"

namespace troupe::linked {

NumberedWork::NumberedWork(std::shared_ptr<RankState> state, const CallSignature& signature)
    : state_(std::move(state)), signature_(signature), outgoing_(state_, signature) {}

void NumberedWork::begin() {
  const auto lock = state_->lock();
  number_ = state_->next_number();
  outgoing_.begin(number_);
  begin_steps();
  state_->receive();
  state_->expect_agreement(number_, signature_);
}

void NumberedWork::listen(std::size_t /*local*/, ProgressListener listener) {
  state_->listen(number_, std::move(listener));
}

bool NumberedWork::advance(std::size_t /*local*/) {
  if (done_) return true;
  const auto lock = state_->lock();
  try {
    return receive_and_advance();
  } catch (const Aborted&) {
    throw;
  } catch (const PayloadWithdrawn&) {
    // The reason is on its way, if it is not here.
    for (const int rank : state_->others()) state_->expect_alive(rank);
    return false;
  } catch (...) {
    state_->abort(failure_now());
    throw;
  }
}

bool NumberedWork::receive_and_advance() {
  state_->receive();
  state_->expect_agreement(number_, signature_);
  if (!advance_steps()) return false;
  done_ = true;
  state_->complete(number_);
  release();
  return true;
}

}  // namespace troupe::linked
