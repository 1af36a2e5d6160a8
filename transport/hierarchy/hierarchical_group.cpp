#include "troupe/transport/hierarchy/hierarchical_group.hpp"

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe::device {

namespace {

using hierarchy::StagedWork;

class HierarchicalWork final : public StagedWork {
 public:
  HierarchicalWork(hierarchy::Stages stages, GiveUp give_up, std::shared_ptr<StagedParts> staged)
      : StagedWork(staged->queue, std::move(stages), std::move(give_up), staged->done.size()),
        staged_(std::move(staged)) {
    staged_->collective = collective();
  }
  ~HierarchicalWork() override { staged_->is_dropped = true; }

  const Event& done(std::size_t local) const override { return staged_->done.at(local); }
  std::string waits_for(std::size_t /*local*/) const override { return staged_->description(); }
  /// Does nothing. All ranks of this process share the work, and the rank that owns `origin` may destroy it while other
  /// ranks still advance the work.
  void set_origin(const Failure* /*origin*/) override {}

 private:
  std::shared_ptr<StagedParts> staged_;
};

/// A queue that leaves the communicators with ranks of other processes.
std::shared_ptr<hierarchy::StageQueue> queue_on(const DeviceHierarchy& parts) {
  const auto leave = [](const std::shared_ptr<Communicator>& communicator) {
    return [communicator](const FailurePtr& failure) {
      if (communicator) communicator->leave(failure);
    };
  };
  hierarchy::LeaveStages leaves;
  leaves[hierarchy::kInside] = leave(parts.machine);
  leaves[hierarchy::kAcross] = leave(parts.across);
  return std::make_shared<hierarchy::StageQueue>(std::move(leaves));
}

/// Returns the device of the first local rank, which exchanges tensors with the host. Throws Error if `inside` or
/// `across` is null.
Device first_device(const DeviceHierarchy& parts) {
  if (!parts.inside || !parts.across)
    throw Error("communicator", "a hierarchy of devices needs a group inside the process and one across processes");
  return parts.inside->local().at(0).device;
}

}  // namespace

std::string StagedParts::description() const {
  const auto begun = collective.lock();
  return what() + ": " + (begun ? queue->waits_for(*begun) : "nothing");
}

HierarchicalGroup::HierarchicalGroup(DeviceHierarchy parts)
    : parts_(std::move(parts)),
      layout_(parts_.process_of),
      queue_(queue_on(parts_)),
      buffers_(Buffers::on_host(first_device(parts_))),
      watch_(parts_.options.limit, {.release = [this](const FailurePtr& failure) { release(failure); }}) {
  const auto& inside = *parts_.inside;
  outer_ = parts_.across->rank();
  const bool fits = parts_.across->size() == layout_.outer_count() &&
                    inside.size() == static_cast<int>(layout_.ranks_of(outer_).size()) &&
                    inside.local().size() == layout_.ranks_of(outer_).size();
  const bool machine_fits = !parts_.machine || parts_.machine->local().size() == inside.local().size();
  if (!fits || !machine_fits)
    throw Error("communicator", "the parts of a hierarchy of devices do not fit its processes");
  for (const auto& [number, device] : inside.local()) {
    local_.push_back({layout_.ranks_of(outer_)[static_cast<std::size_t>(number)], device});
    auto& backend = backend_of(device);
    lanes_.push_back({backend.make_stream(device), backend.make_stream(device), Buffers::on_device(device)});
  }
  for (const auto& group : {parts_.inside, parts_.machine})
    if (group) group->on_failed([this](const FailurePtr& failure) { watch_.fail(failure); });
}

HierarchicalGroup::~HierarchicalGroup() {
  for (const auto& group : {parts_.inside, parts_.machine})
    if (group) group->on_failed({});
}

std::shared_ptr<Work> HierarchicalGroup::begin(CollectiveKind kind, Parts parts, int root) {
  std::lock_guard lock(mutex_);
  return watch_.begin([&] { return begin_stages(check_parts(kind, parts, local_, size(), root), parts); });
}

std::shared_ptr<Work> HierarchicalGroup::begin_stages(const CallSignature& call, Parts parts) {
  const auto staged =
      std::make_shared<StagedParts>(queue_, to_string(call) + " (collective " + std::to_string(number_++) + ")", parts);
  // The work keeps this function, and with it a handle of the group.
  const auto give_up = [group = shared_from_this()](const FailurePtr& failure) { group->watch_.fail(failure); };
  const auto work = std::make_shared<HierarchicalWork>(stages_of(call, staged), give_up, staged);
  watch_.add(staged);
  return work;
}

void HierarchicalGroup::abort(FailurePtr failure) {
  if (watch_.end(failure)) release(failure);
}

void HierarchicalGroup::release(const FailurePtr& failure) {
  // The groups end before the queue fails: a stage that waits in a group holds the queue's lock until the group has
  // ended.
  if (parts_.machine) parts_.machine->abort(failure);
  parts_.inside->abort(failure);
  parts_.across->abort(failure);
  queue_->fail(failure);
}

}  // namespace troupe::device

namespace troupe {

std::shared_ptr<Communicator> make_hierarchical_device_group(DeviceHierarchy hierarchy) {
  return std::make_shared<device::HierarchicalGroup>(std::move(hierarchy));
}

}  // namespace troupe
