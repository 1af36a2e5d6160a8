#pragma once

#include "troupe/transport/communicator.hpp"
#include "troupe/transport/linked/rank_state.hpp"

namespace troupe::linked {

/// What one kind of collective sends and does.
struct Steps {
  /// The tensor for a rank in phase `inputs`.
  std::function<Tensor(int to)> input_for;
  /// When all inputs are there; those of all ranks in order, this rank's included.
  std::function<void(const std::vector<Tensor>& inputs)> combine;
  /// The tensor for all in phase `results`, and what to do when all of them are there. None: there is no such phase.
  std::function<Tensor()> result;
  std::function<void(const std::vector<Tensor>& results)> finish;
};

/// A collective in progress on one rank.
class LinkedWork final : public Work {
 public:
  LinkedWork(std::shared_ptr<RankState> state, const CallSignature& signature, Steps steps);
  ~LinkedWork() override { state_->forget(number_); }

  /// Sends this rank's inputs. Throws Aborted if the ranks are known not to agree.
  void begin(Communicator::OnProgress on_progress);

  bool advance() override;
  std::string waits_for() const override;

 private:
  bool advance_phases();
  void combine();
  void send(int to, Phase phase, const Tensor& payload);
  std::vector<Tensor> payloads(Phase phase, const Tensor& own);
  void check_signatures();

  std::shared_ptr<RankState> state_;
  CallSignature signature_;
  Steps steps_;
  std::int64_t number_ = -1;
  int phase_ = inputs;
  int waiting_for_ = -1;
};

}  // namespace troupe::linked
