#include "troupe/actors/spawn/plan_part.hpp"

#include <algorithm>
#include <caf/scoped_actor.hpp>
#include <map>
#include <set>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/control/supervisor.hpp"
#include "troupe/actors/plan/held_together.hpp"
#include "troupe/actors/segment/segment_actor.hpp"
#include "troupe/actors/spawn/wiring.hpp"
#include "troupe/actors/threads/thread_pinning.hpp"
#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/signals_blocked.hpp"

namespace troupe {

PlanPart::PlanPart(const Runtime& runtime, SpawnedTogether together, int process, SpawnContext context,
                   std::map<int, std::shared_ptr<Link>> links)
    : runtime_(runtime),
      together_(std::move(together)),
      process_(process),
      context_(std::make_shared<SpawnContext>(std::move(context))),
      links_(std::move(links)) {
  context_->process = together_.plan->processes() == 1 ? -1 : process_;
  if (!context_->store) context_->store = std::make_shared<ParameterStore>();
  for (auto& [name, ends] : context_->communicators) std::erase(ends, nullptr);
  borrowed_tensors();
  spawn();
}

/// Returns the parameters that actors of this process hold and write. Sets HeldParameter::needs_whole_run where
/// actors of several processes make the updates together.
std::vector<HeldParameter> PlanPart::held_by_actors() const {
  const auto together = held_together(*together_.plan, process_);
  std::vector<HeldParameter> held;
  for (const auto& actor : together_.plan->actors)
    for (auto parameter : actor.parameters) {
      if (!parameter.written || actor.place.process != process_) continue;
      parameter.needs_whole_run |= together.contains(parameter.ref);
      held.push_back(std::move(parameter));
    }
  return held;
}

void PlanPart::borrowed_tensors() {
  std::set<ParameterRef> read, written;
  for (const auto& actor : together_.plan->actors) {
    if (actor.place.process != process_) continue;
    for (const auto& input : actor.inputs)
      if (input.parameter) read.insert(*input.parameter);
    for (const auto& output : actor.outputs)
      if (output.parameter) written.insert(*output.parameter);
    for (const auto& parameter : actor.parameters) (parameter.written ? written : read).insert(parameter.ref);
  }
  held_ = held_by_actors();
  context_->store->note_order(together_.plan->parameters);
  for (const auto& parameter : together_.plan->parameters) {
    const auto& ref = parameter.ref;
    if (!read.contains(ref) && !written.contains(ref)) continue;
    context_->store->add(parameter);
    (written.contains(ref) ? written_ : read_).emplace_back(ref, context_->store->borrowed(ref));
  }
}

Lease PlanPart::borrow() const {
  const auto refs_of = [&](const auto& tensors) {
    std::vector<ParameterRef> refs;
    for (const auto& [ref, tensor] : tensors) {
      if (!context_->store->borrowed(ref).same_as(tensor))
        throw Error("store", "parameter '" + ref.name + "' was replaced since the plan was spawned; spawn it anew");
      refs.push_back(ref);
    }
    return refs;
  };
  auto read = refs_of(read_), written = refs_of(written_);
  return context_->store->borrow(std::move(read), std::move(written), "a run of process " + std::to_string(process_),
                                 held_);
}

bool PlanPart::has_its_parameters() const {
  const auto is_same = [&](const auto& held) { return context_->store->is_tensor_of(held.first, held.second); };
  return std::ranges::all_of(read_, is_same) && std::ranges::all_of(written_, is_same);
}

bool PlanPart::has_source(const std::vector<std::int32_t>& segments) const {
  const auto& plan = *together_.plan;
  return std::ranges::any_of(segments, [&](auto i) {
    return std::ranges::any_of(plan.segments[i].actors,
                               [&](auto id) { return plan.actors[id].pacing == Pacing::source; });
  });
}

std::vector<Tensor> PlanPart::allocate_shared_buffers() const {
  const auto& plan = *together_.plan;
  const auto bytes_on = [](Device device, std::size_t bytes) {
    return Tensor(Shape{static_cast<std::int64_t>(bytes)}, DType::uint8, device);
  };
  std::vector<Tensor> buffers(plan.shared_buffers.size());
  std::map<Device, std::set<std::int32_t>> on_host;
  for (const auto& edge : plan.edges) {
    const auto& place = plan.actors[edge.producer].place;
    if (edge.shared_buffer == kNone || place.process != process_ || buffers[edge.shared_buffer]) continue;
    if (is_host(place.device))
      on_host[place.device].insert(edge.shared_buffer);
    else
      buffers[edge.shared_buffer] = bytes_on(place.device, plan.shared_buffers[edge.shared_buffer]);
  }
  // One block holds the buffers of a CPU device, because huge pages fill a large block better than small ones.
  for (const auto& [device, numbers] : on_host) {
    std::size_t bytes = 0;
    for (const auto number : numbers) bytes += Allocator::rounded(plan.shared_buffers[number]);
    const auto block = memory_for("tensors between segments on " + to_string(device),
                                  [&, on = device] { return bytes_on(on, bytes); });
    bytes = 0;
    for (const auto number : numbers) {
      const auto size = plan.shared_buffers[number];
      buffers[number] = block.view(Shape{static_cast<std::int64_t>(size)}, DType::uint8, bytes);
      bytes += Allocator::rounded(size);
    }
  }
  return buffers;
}

caf::actor PlanPart::spawn_executor(const std::vector<std::int32_t>& segments,
                                    const std::shared_ptr<ExecutorStatus>& status,
                                    const std::vector<Tensor>& shared_buffers) {
  const auto& plan = *together_.plan;
  const auto& first = plan.segments[segments[0]];
  const auto& actor = plan.actors[first.actors[0]];
  if (actor.role == ActorRole::external) return spawn_external(actor);
  ExecutorSetup setup{together_.plan, segments, shared_buffers, context_, status, together_.trace, -1, {}};
  const bool own_thread = runtime_.options().own_threads &&
                          std::ranges::any_of(segments, [&](auto i) { return plan.segments[i].own_thread; });
  if (!own_thread) {
    auto spawned = runtime_.system().spawn<SegmentActor>(std::move(setup));
    runtime_.prefer_worker(spawned, first.place.device.index);
    return spawned;
  }
  const SignalsBlocked blocked;
  runtime_.check_thread();
  setup.busy_thread = std::make_shared<BusyThreads>(1);
  const auto& options = runtime_.options();
  if (options.cpu_devices <= usable_cores()) setup.busy_poll = options.busy_poll;
  if (is_host(first.place.device)) {
    setup.core = first.place.device.index;
    setup.busy_poll = std::min(setup.busy_poll, RuntimeOptions::kPollOnCores);
  }
  return runtime_.system().spawn<SegmentActor, caf::detached>(std::move(setup));
}

/// Spawns a user's actor. An exception of its constructor becomes an Error that names the actor.
caf::actor PlanPart::spawn_external(const PlanActor& actor) const {
  try {
    if (auto spawned = actor.spawn_external(runtime_.system(), *context_)) return spawned;
  } catch (...) {
    throw Error(actor.name, "cannot be spawned: " + text_of(std::current_exception()));
  }
  throw Error(actor.name, "cannot be spawned: PlanActor::spawn_external returned no actor");
}

std::vector<HeldTensor> PlanPart::held_by(const std::vector<std::int32_t>& segments) const {
  std::vector<HeldTensor> held;
  for (auto segment : segments)
    for (auto actor : together_.plan->segments[segment].actors)
      for (const auto& of_actor : together_.plan->actors[actor].parameters)
        held.push_back({context_->store->borrowed(of_actor.ref, of_actor.rows),
                        of_actor.written ? context_->store->counter(of_actor.ref, of_actor.rows) : nullptr});
  return held;
}

void PlanPart::spawn() {
  const Wiring wiring(together_.plan, process_);
  try {
    const auto shared_buffers = allocate_shared_buffers();
    for (const auto& node : wiring.nodes()) {
      statuses_.push_back(std::make_shared<ExecutorStatus>());
      statuses_.back()->name = node.name;
      actors_.push_back(node.peer == kNone ? spawn_executor(node.segments, statuses_.back(), shared_buffers)
                                           : spawn_link_actor(runtime_.system(), node, links_.at(node.peer)));
      if (node.peer != kNone) proxies_[node.peer] = actors_.back();
    }
  } catch (...) {
    for (const auto& actor : actors_) post(actor, Stop{});
    throw;
  }
  auto wires = wiring.wires(actors_);
  std::vector<SupervisedActor> supervised;
  for (std::size_t i = 0; i < actors_.size(); ++i) {
    wires[i].generation = together_.generation;
    wires[i].rank = context_->process;
    wires[i].status = statuses_[i];
    wires[i].parameters = held_by(wiring.nodes()[i].segments);
    supervised.push_back(
        {actors_[i], statuses_[i]->name, has_source(wiring.nodes()[i].segments), statuses_[i], std::move(wires[i])});
  }
  const auto abort = [communicators = context_->communicators](const FailurePtr& failure) {
    for (const auto& [name, ends] : communicators)
      for (const auto& end : ends) end->abort(failure);
  };
  tell_when_failed([control = std::weak_ptr(together_.control)](const FailurePtr& failure) {
    if (const auto alive = control.lock()) alive->give_up(failure);
  });
  supervisor_ = runtime_.system().spawn<Supervisor>(std::move(supervised), together_.control, context_->process, abort);
}

void PlanPart::replace_link(int process, std::shared_ptr<Link> link) const {
  post(proxies_.at(process), LinkReplaced{std::move(link)});
}

void PlanPart::tell_when_failed(const Communicator::OnFailed& callback) const {
  for (const auto& [name, ends] : context_->communicators)
    for (const auto& end : ends) end->on_failed(callback);
}

PlanPart::~PlanPart() {
  tell_when_failed({});
  order_stop();
}

void PlanPart::order_stop() {
  if (!supervisor_) return;
  post(std::exchange(supervisor_, nullptr), Stop{});
  for (const auto& actor : actors_) post<caf::message_priority::high>(actor, Stop{});
}

std::vector<std::string> PlanPart::wait_until_gone(std::chrono::milliseconds limit) {
  const auto actors = std::exchange(actors_, {});
  proxies_.clear();
  std::set<caf::actor_addr> left;
  caf::scoped_actor self(runtime_.system());
  for (const auto& actor : actors) {
    watch(*self, actor);
    left.insert(actor.address());
  }
  const auto deadline = std::chrono::steady_clock::now() + limit;
  bool in_time = true;
  while (!left.empty() && in_time) {
    const auto rest =
        std::max(deadline - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration::zero());
    self->receive([&](const caf::down_msg& down) { left.erase(down.source); },
                  caf::after(std::chrono::duration_cast<std::chrono::milliseconds>(rest)) >> [&] { in_time = false; });
  }
  std::vector<std::string> stuck;
  for (std::size_t i = 0; i < actors.size(); ++i) {
    if (!left.contains(actors[i].address())) continue;
    const auto* running = statuses_[i]->running.load(std::memory_order_relaxed);
    stuck.push_back("'" + statuses_[i]->name + "'" + (running != nullptr ? " in '" + *running + "'" : ""));
  }
  return stuck;
}

}  // namespace troupe
