#include "troupe/actors/collective/collective_tasks.hpp"

#include <algorithm>

#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/only_handle.hpp"

namespace troupe {

void CollectiveTask::begin(const RunInfo& /*run*/, std::function<void()> wake) {
  wake_ = std::move(wake);
}

RankWork& CollectiveTask::begun(const Firing& firing) const {
  if (firing.start == nullptr || *firing.start == nullptr)
    throw Error(origin_.actor, "no conductor has begun its collective");
  return (*firing.start)->ranks.at(rank_);
}

bool CollectiveTask::fire(const Firing& firing) {
  const auto& [work, local, output] = begun(firing);
  origin_.step = firing.step;
  work->set_origin(&origin_);
  work->listen(local, wake_);
  return advance(firing);
}

bool CollectiveTask::advance(const Firing& firing) {
  auto& rank = begun(firing);
  pending_ = nullptr;
  // `rank.work` stays null if the rank is complete or advance() throws: the work must not keep the rank's tensor, which
  // is returned to its producer next.
  auto work = std::move(rank.work);
  if (!work->advance(rank.local)) {
    rank.work = std::move(work);
    pending_ = &rank;
    return false;
  }
  auto& stream = firing.context.stream;
  stream.wait(work->done(rank.local));
  if (rank.output) copy(stream, rank.output, firing.outputs[0]);
  return true;
}

void CollectiveTask::skip(const Firing& firing, const FailurePtr& /*failure*/) {
  pending_ = nullptr;
  if (firing.start != nullptr && *firing.start != nullptr) begun(firing).work.reset();
}

std::string CollectiveTask::waits_for() const {
  return pending_ != nullptr ? pending_->work->waits_for(pending_->local) : "nothing";
}

BeginCollectiveTask::BeginCollectiveTask(CollectiveKind kind, std::vector<Member> members, Failure origin)
    : kind_(kind), members_(std::move(members)), origin_(std::move(origin)) {
  for (const auto& member : members_) ranks_ += member.inputs.size();
}

/// Returns a CollectiveStart of an earlier step, with the memory of its outputs, that all ranks have returned. Makes a
/// new one if every earlier one is in use.
const std::shared_ptr<CollectiveStart>& BeginCollectiveTask::unused_start() {
  const auto unused = std::ranges::find_if(starts_, is_only_handle<CollectiveStart>);
  return unused != starts_.end() ? *unused : starts_.emplace_back(std::make_shared<CollectiveStart>(ranks_));
}

bool BeginCollectiveTask::fire(const Firing& firing) {
  const auto start = unused_start();
  try {
    const auto ready = firing.context.stream.record();
    for (const auto& member : members_) begin_for(member, firing, ready, *start);
  } catch (const Aborted&) {
    give_up(*start);
    throw;
  } catch (...) {
    // The collective may have begun for some members only. Aborting all communicators ends it for every rank, so that
    // no rank waits for the others.
    origin_.step = firing.step;
    const auto failure = current_failure(origin_);
    for (const auto& member : members_) member.communicator->abort(failure);
    give_up(*start);
    throw Aborted(failure);
  }
  *firing.start = start;
  return true;
}

/// Makes the output of a rank a tensor of `elements` elements. The memory of the step before is used again unless the
/// number of elements has changed, as it does with the rows of a batch.
void BeginCollectiveTask::prepare_output(Tensor& output, const Tensor& input, std::int64_t elements) {
  if (!output || output.elements() != elements) output = Tensor(Shape{elements}, input.dtype(), input.device());
}

void BeginCollectiveTask::begin_for(const Member& member, const Firing& firing, const Event& ready,
                                    CollectiveStart& start) {
  const bool in_place = form_of(kind_).output == OutputSize::in_place;
  parts_.clear();
  for (const auto input : member.inputs) {
    const auto& tensor = firing.inputs[input];
    auto& output = start.ranks[input].output;
    if (!in_place)
      prepare_output(output, tensor, output_elements(kind_, tensor.elements(), member.communicator->size()));
    parts_.push_back({tensor, output, ready});
  }
  const auto work = member.communicator->begin(kind_, parts_, 0);
  for (std::size_t local = 0; local < member.inputs.size(); ++local) {
    auto& rank = start.ranks[member.inputs[local]];
    rank.work = work;
    rank.local = local;
  }
  parts_.clear();
}

/// Drops the works of the ranks for which the collective has begun, and with them the handles to the ranks' tensors.
void BeginCollectiveTask::give_up(CollectiveStart& start) {
  parts_.clear();
  for (auto& rank : start.ranks) rank.work.reset();
}

void BeginCollectiveTask::skip(const Firing& /*firing*/, const FailurePtr& failure) {
  for (const auto& member : members_) member.communicator->leave(failure);
}

namespace {

Failure origin_of(const PlanActor& actor, const SpawnContext& context) {
  return {.rank = context.process, .replica = actor.replica, .actor = actor.name};
}

/// The ends of communicator `name` in this process that have at least one of `ranks`. Input i of the conductor is the
/// tensor of ranks[i]. Throws Error if one of `ranks` is not in this process.
std::vector<BeginCollectiveTask::Member> members_of(const std::vector<std::int64_t>& ranks, const std::string& name,
                                                    const SpawnContext& context) {
  std::vector<BeginCollectiveTask::Member> members;
  std::vector<bool> has_end(ranks.size());
  for (const auto& communicator : context.ends_of(name)) {
    BeginCollectiveTask::Member member{communicator, {}};
    for (const auto& local : communicator->local()) {
      const auto rank = std::ranges::find(ranks, local.rank);
      if (rank == ranks.end()) continue;
      member.inputs.push_back(static_cast<std::size_t>(rank - ranks.begin()));
      has_end[member.inputs.back()] = true;
    }
    if (!member.inputs.empty()) members.push_back(std::move(member));
  }
  const auto missing = std::ranges::find(has_end, false);
  if (missing != has_end.end())
    throw Error("spawn", "communicator '" + name + "' has no rank " +
                             std::to_string(ranks[static_cast<std::size_t>(missing - has_end.begin())]) +
                             " in this process");
  return members;
}

}  // namespace

std::unique_ptr<Task> make_collective_task(const PlanActor& actor, SpawnContext& context) {
  return std::make_unique<CollectiveTask>(static_cast<std::size_t>(actor.task.attributes.integer("local")),
                                          origin_of(actor, context));
}

std::unique_ptr<Task> make_begin_collective_task(const PlanActor& actor, SpawnContext& context) {
  const auto& attributes = actor.task.attributes;
  return std::make_unique<BeginCollectiveTask>(collective_kind_of(attributes.text("collective")),
                                               members_of(attributes.list("ranks"), actor.task.subject, context),
                                               origin_of(actor, context));
}

}  // namespace troupe
