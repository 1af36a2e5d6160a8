#include "troupe/transport/hierarchy/hierarchical_communicator.hpp"

#include <atomic>
#include <utility>
#include <vector>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/collective_call.hpp"
#include "troupe/transport/hierarchy/agreement_check.hpp"
#include "troupe/transport/hierarchy/layout.hpp"
#include "troupe/transport/hierarchy/stage_queue.hpp"

namespace troupe {

namespace {

using hierarchy::LeaveStages;
using hierarchy::StagedWork;
using hierarchy::StageQueue;
using hierarchy::Stages;

void expect_end(const std::shared_ptr<Communicator>& communicator, bool needed, int rank, int size, const char* name) {
  const bool fits =
      needed ? communicator && communicator->rank() == rank && communicator->size() == size : communicator == nullptr;
  if (!fits) throw Error("communicator", std::string("the hierarchy's part '") + name + "' does not fit its machines");
}

class HierarchicalCommunicator final : public Communicator {
 public:
  explicit HierarchicalCommunicator(Hierarchy parts)
      : parts_(std::move(parts)),
        layout_(parts_.machine_of),
        queue_(std::make_shared<StageQueue>(leave_stages(parts_))) {
    if (!parts_.all) throw Error("communicator", "a hierarchy needs a communicator of all ranks");
    expect_end(parts_.all, true, rank(), layout_.ranks(), "all");
    const int outer = layout_.outer(rank()), inner = layout_.inner(rank());
    const auto neighbors = static_cast<int>(layout_.ranks_of(outer).size());
    expect_end(parts_.inside, neighbors > 1, inner, neighbors, "inside");
    expect_end(parts_.spread, neighbors > 1, inner, neighbors, "spread");
    expect_end(parts_.across, inner == 0, outer, layout_.outer_count(), "across");
    if (parts_.entry) expect_end(parts_.entry, inner == 0, outer, layout_.outer_count(), "entry");
  }

  int size() const override { return parts_.all->size(); }
  const std::vector<DeviceRank>& local() const override { return parts_.all->local(); }

  std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) override {
    const auto& part = only_part(parts);
    const auto signature = signature_of(kind, part.input, part.output, rank(), size(), root);
    const bool is_scattered_sum = form_of(kind).sums && kind != CollectiveKind::all_reduce;
    if (parts_.once_per_machine && is_scattered_sum)
      throw Error("communicator", "a hierarchy whose machines have summed before cannot scatter sums");
    return begin_stages(signature, stages_of(kind, part, root));
  }
  std::shared_ptr<Work> send(const Tensor& tensor, int to, OnProgress on_progress) override {
    return parts_.all->send(tensor, to, std::move(on_progress));
  }
  std::shared_ptr<Work> recv(const Tensor& tensor, int from, OnProgress on_progress) override {
    return parts_.all->recv(tensor, from, std::move(on_progress));
  }

  void abort(FailurePtr failure) override { abort_all(parts_, *queue_, failure); }
  void leave(FailurePtr failure) override { queue_->leave(failure); }

 private:
  static LeaveStages leave_stages(const Hierarchy& parts) {
    const auto leave = [](std::vector<std::shared_ptr<Communicator>> communicators) {
      return [communicators = std::move(communicators)](const FailurePtr& failure) {
        for (const auto& communicator : communicators)
          if (communicator) communicator->leave(failure);
      };
    };
    LeaveStages leaves;
    leaves[hierarchy::kInside] = leave({parts.inside});
    leaves[hierarchy::kEntry] = leave({parts.entry});
    leaves[hierarchy::kAcross] = leave({parts.all, parts.entry ? nullptr : parts.across});
    leaves[hierarchy::kSpread] = leave({parts.spread});
    return leaves;
  }

  static void abort_all(const Hierarchy& parts, StageQueue& queue, const FailurePtr& failure) {
    queue.fail(failure);
    for (const auto& part : {parts.all, parts.inside, parts.spread, parts.entry, parts.across})
      if (part) part->abort(failure);
  }

  Stages stages_of(CollectiveKind kind, const Part& part, int root) const {
    if (kind == CollectiveKind::all_reduce) return sum_stages(part.input);
    if (kind == CollectiveKind::broadcast) return broadcast_stages(part.input, root);
    Stages stages;
    stages[hierarchy::kAcross] = [=, on = parts_.all] { return on->begin(kind, {&part, 1}, root); };
    return stages;
  }

  Stages sum_stages(const Tensor& tensor) const {
    Stages stages;
    if (parts_.inside && !parts_.once_per_machine)
      stages[hierarchy::kInside] = [tensor, on = parts_.inside] { return on->all_reduce(tensor); };
    if (parts_.across) stages[hierarchy::kAcross] = [tensor, on = parts_.across] { return on->all_reduce(tensor); };
    if (parts_.spread) stages[hierarchy::kSpread] = [tensor, on = parts_.spread] { return on->broadcast(tensor, 0); };
    return stages;
  }

  Stages broadcast_stages(const Tensor& tensor, int root) const {
    const int inner = layout_.inner(root), outer = layout_.outer(root);
    const bool at_root = outer == layout_.outer(rank());
    Stages stages;
    if (parts_.inside && at_root)
      stages[hierarchy::kInside] = [=, on = parts_.inside] { return on->broadcast(tensor, inner); };
    if (parts_.across) stages[hierarchy::kAcross] = [=, on = parts_.across] { return on->broadcast(tensor, outer); };
    if (parts_.spread && !at_root)
      stages[hierarchy::kSpread] = [=, on = parts_.spread] { return on->broadcast(tensor, 0); };
    return stages;
  }

  /// Begins a collective whose stages also compare the collectives that the ranks have begun: first inside each
  /// machine, then across the machines.
  std::shared_ptr<Work> begin_stages(const CallSignature& signature, Stages stages) {
    const hierarchy::BegunCollective begun{number_++, signature};
    const auto check = [&](std::size_t stage, const std::shared_ptr<Communicator>& on, const std::vector<int>& ranks) {
      stages[stage] = hierarchy::with_check(std::move(stages[stage]), on, begun, ranks);
    };
    check(hierarchy::kInside, parts_.inside, layout_.ranks_of(layout_.outer(rank())));
    check(parts_.entry ? hierarchy::kEntry : hierarchy::kAcross, parts_.entry ? parts_.entry : parts_.across,
          layout_.first_ranks());
    const auto give_up = [parts = parts_, queue = queue_](const FailurePtr& failure) {
      abort_all(parts, *queue, failure);
    };
    return std::make_shared<StagedWork>(queue_, std::move(stages), give_up);
  }

  const Hierarchy parts_;
  const hierarchy::Layout layout_;       // the distribution of the ranks over machines
  std::atomic<std::int64_t> number_{0};  // the number of the next collective
  std::shared_ptr<StageQueue> queue_;
};

}  // namespace

std::shared_ptr<Communicator> make_hierarchical_communicator(Hierarchy hierarchy) {
  return std::make_shared<HierarchicalCommunicator>(std::move(hierarchy));
}

}  // namespace troupe
