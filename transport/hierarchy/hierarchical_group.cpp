#include "troupe/transport/hierarchy/hierarchical_group.hpp"

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe::device {

namespace {

using hierarchy::StagedCollective;

class HierarchicalWork final : public DeviceWork {
 public:
  HierarchicalWork(std::shared_ptr<HierarchicalGroup> group, std::shared_ptr<StagedCollective> collective,
                   std::shared_ptr<StagedParts> staged, std::string what)
      : group_(std::move(group)),
        collective_(std::move(collective)),
        staged_(std::move(staged)),
        what_(std::move(what)) {}
  ~HierarchicalWork() override { group_->give_up(*collective_); }

  bool advance() override { return group_->advance(*collective_); }
  const Event& done(std::size_t local) const override { return staged_->done.at(local); }
  std::string waits_for() const override { return what_ + ": " + group_->waits_for(*collective_); }

 private:
  std::shared_ptr<HierarchicalGroup> group_;
  std::shared_ptr<StagedCollective> collective_;
  std::shared_ptr<StagedParts> staged_;
  std::string what_;
};

/// As the group's watch sees it, which does not keep the group.
class WatchedStages final : public Watched {
 public:
  WatchedStages(const HierarchicalGroup& group, std::shared_ptr<StagedCollective> collective,
                std::shared_ptr<StagedParts> staged, std::vector<Event> ready, std::string what)
      : group_(group),
        collective_(std::move(collective)),
        staged_(std::move(staged)),
        ready_(std::move(ready)),
        what_(std::move(what)) {}

  bool has_begun() const override {
    return std::ranges::any_of(ready_, [](const Event& event) { return event.done(); });
  }
  bool is_done() const override { return staged_->is_launched; }
  std::string waits_for() const override { return what_ + ": " + group_.waits_for(*collective_); }

 private:
  const HierarchicalGroup& group_;
  std::shared_ptr<StagedCollective> collective_;
  std::shared_ptr<StagedParts> staged_;
  std::vector<Event> ready_;
  std::string what_;
};

ProgressListener listener_of(DeviceCommunicator::Parts parts) {
  std::vector<ProgressListener> listeners;
  for (const auto& part : parts)
    if (part.on_progress) listeners.push_back(part.on_progress);
  return [listeners = std::move(listeners)] {
    for (const auto& listener : listeners) listener();
  };
}

/// The device whose memory meets the host's.
Device first_device(const DeviceHierarchy& parts) {
  if (!parts.inside || !parts.across)
    throw Error("communicator", "a hierarchy of devices needs a group inside the process and one across processes");
  return parts.inside->local().at(0).device;
}

}  // namespace

HierarchicalGroup::HierarchicalGroup(DeviceHierarchy parts)
    : parts_(std::move(parts)),
      layout_(parts_.process_of),
      buffers_(Buffers::on_host(first_device(parts_))),
      watch_(parts_.options.limit, {.release = [this](const FailurePtr& failure) { release(failure); }}) {
  const auto& inside = *parts_.inside;
  outer_ = parts_.across->rank();
  const bool fits = parts_.across->size() == layout_.processes() &&
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

template <class Function>
auto HierarchicalGroup::or_fail(Function function) {
  try {
    return function();
  } catch (const Aborted& aborted) {
    watch_.fail(aborted.failure());
    throw;
  } catch (...) {
    watch_.fail(current_failure({}));
    throw;
  }
}

std::shared_ptr<DeviceWork> HierarchicalGroup::begin(CollectiveKind kind, Parts parts, int root,
                                                     const MakeStages& make_stages) {
  std::lock_guard lock(mutex_);
  watch_.check();
  return or_fail([&]() -> std::shared_ptr<DeviceWork> {
    const auto signature = check_parts(kind, parts, local_, size(), root);
    const auto what = to_string(signature) + " (collective " + std::to_string(number_++) + ")";
    const auto staged = std::make_shared<StagedParts>();
    staged->parts.assign(parts.begin(), parts.end());
    staged->in_place = staged->parts;
    staged->done = ready_events(parts);
    const auto progress = listener_of(parts);
    const auto collective = queue_.add(make_stages(signature, staged, progress), progress);
    watch_.add(std::make_shared<WatchedStages>(*this, collective, staged, ready_events(parts), what));
    return std::make_shared<HierarchicalWork>(shared_from_this(), collective, staged, what);
  });
}

bool HierarchicalGroup::advance(const StagedCollective& collective) {
  std::lock_guard lock(mutex_);
  return or_fail([&] { return queue_.advance(collective); });
}

void HierarchicalGroup::give_up(StagedCollective& collective) {
  std::lock_guard lock(mutex_);
  if (!queue_.remove(collective))
    watch_.fail(std::make_shared<Failure>(
        Failure{.kind = FailureKind::aborted, .what = "[communicator] a collective was given up half-way"}));
  // Its stages may write to tensors that are the caller's again.
  collective.current = nullptr;
}

void HierarchicalGroup::abort(FailurePtr failure) {
  if (watch_.end(failure)) release(failure);
}

void HierarchicalGroup::release(const FailurePtr& failure) {
  // A stage that waits inside of a part, and holds the queue, goes on when the part has ended.
  if (parts_.machine) parts_.machine->abort(failure);
  parts_.inside->abort(failure);
  parts_.across->abort(failure);
  queue_.fail(failure);
}

}  // namespace troupe::device

namespace troupe {

std::shared_ptr<DeviceCommunicator> make_hierarchical_device_group(DeviceHierarchy hierarchy) {
  return std::make_shared<device::HierarchicalGroup>(std::move(hierarchy));
}

}  // namespace troupe
