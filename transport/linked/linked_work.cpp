#include "troupe/transport/linked/linked_work.hpp"

namespace troupe::linked {

LinkedWork::LinkedWork(std::shared_ptr<RankState> state, const CallSignature& signature, Steps steps)
    : state_(std::move(state)), signature_(signature), steps_(std::move(steps)) {}

void LinkedWork::begin(Communicator::OnProgress on_progress) {
  const auto lock = state_->lock();
  number_ = state_->next_number();
  state_->listen(number_, std::move(on_progress));
  for (int to = 0; to < state_->ranks(); ++to)
    if (to != state_->rank()) send(to, inputs, steps_.input_for(to));
  state_->receive();
  check_signatures();
}

bool LinkedWork::advance() {
  if (phase_ == kPhases) return true;
  const auto lock = state_->lock();
  state_->receive();
  check_signatures();
  try {
    return advance_phases();
  } catch (const Aborted&) {
    throw;
  } catch (...) {
    state_->abort(failure_now());
    throw;
  }
}

std::string LinkedWork::waits_for() const {
  if (phase_ == kPhases || waiting_for_ < 0) return "nothing";
  return to_string(signature_) + ": rank " + std::to_string(waiting_for_) +
         (phase_ == inputs ? " has not come" : " has not summed its slice");
}

bool LinkedWork::advance_phases() {
  for (; phase_ < kPhases; ++phase_) {
    if (phase_ == results && !steps_.result) break;
    waiting_for_ = state_->missing(number_, static_cast<Phase>(phase_));
    if (waiting_for_ >= 0) return false;
    if (phase_ == inputs)
      combine();
    else
      steps_.finish(payloads(results, {}));
  }
  phase_ = kPhases;
  state_->complete(number_);
  // Whoever lent the tensors counts their handles.
  steps_ = {};
  return true;
}

void LinkedWork::combine() {
  if (steps_.combine) steps_.combine(payloads(inputs, steps_.input_for(state_->rank())));
  if (!steps_.result) return;
  for (int to = 0; to < state_->ranks(); ++to)
    if (to != state_->rank()) send(to, results, steps_.result());
}

void LinkedWork::send(int to, Phase phase, const Tensor& payload) {
  state_->send(to, {header_of(signature_, number_, phase), payload});
}

std::vector<Tensor> LinkedWork::payloads(Phase phase, const Tensor& own) {
  std::vector<Tensor> tensors;
  for (auto& frame : state_->arrived(number_)[phase]) tensors.push_back(frame ? frame->payload : own);
  return tensors;
}

void LinkedWork::check_signatures() {
  const auto& frames = state_->arrived(number_)[inputs];
  for (int from = 0; from < state_->ranks(); ++from) {
    if (!frames[from]) continue;
    const auto theirs = signature_of(frames[from]->header);
    if (theirs == signature_) continue;
    if (from < state_->rank())
      state_->give_up(disagreement(number_, theirs, from, signature_, state_->rank()));
    else
      state_->give_up(disagreement(number_, signature_, state_->rank(), theirs, from));
  }
}

}  // namespace troupe::linked
