#include "troupe/actors/calls/coordinator.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/calls/call_actors.hpp"
#include "troupe/actors/calls/call_board.hpp"
#include "troupe/actors/calls/call_frames.hpp"
#include "troupe/actors/messages/messages.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

// Longer values of CoordinatorOptions::limit count as this one. Adding a very long limit to the current time would
// overflow a time point.
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);

}  // namespace

struct Coordinator::State : std::enable_shared_from_this<Coordinator::State> {
  State(const Runtime& on_runtime, CallFunctions call_functions, CoordinatorOptions coordinator_options)
      : runtime(on_runtime),
        functions(std::make_shared<const CallFunctions>(std::move(call_functions))),
        options(std::move(coordinator_options)),
        actor(spawn_coordinator(runtime.system(), options.in_flight, monitor, variables)) {}

  ~State() { post(actor, Stop{}); }

  void add_local_worker() {
    const auto read = [from = variables](const std::string& name) { return from->read(name); };
    const auto on_result = [to = actor](std::int64_t call, CallResult result) {
      post(to, CallEnded{call, std::move(result)});
    };
    // A function may run for long, so its worker has a thread of its own and takes none from other actors. Under a test
    // seed all actors run on the thread that calls run_one().
    const bool own_thread = !runtime.options().test_seed;
    post(actor,
         WorkerJoined{next_worker++, spawn_call_worker(runtime.system(), own_thread, functions, read, on_result)});
  }

  void add_process(int rank) {
    std::lock_guard lock(mutex);
    const auto returns = options.cluster->returns(rank);
    const auto [entry, is_new] = added.try_emplace(rank, returns);
    if (closed || (!is_new && std::exchange(entry->second, returns) == returns)) return;
    std::shared_ptr<Link> link;
    try {
      link = options.cluster->data_link(rank, kCallLink);
    } catch (const Error&) {
      if (is_new) throw;
      // The process returned while the link was made, so the link leads to the new process already.
      return;
    }
    spawn_remote_worker(runtime.system(), next_worker++, std::move(link), actor, variables);
  }

  void add_processes() {
    std::set<int> others;
    for (int rank = 1; rank < options.cluster->size(); ++rank) others.insert(rank);
    options.cluster->set_expendable(others);
    on_returned = options.cluster->on_returned([weak = weak_from_this()](int rank) {
      if (const auto state = weak.lock()) state->add_process(rank);
    });
    for (const int rank : others) add_process(rank);
  }

  /// Waits until `condition` is true. The value of `condition` may change only when a call ends. `condition` is called
  /// with monitor->mutex locked, except under a test seed. Throws Error if no call ends for options.limit; under a test
  /// seed, if no actor has a message to handle.
  void wait_until(const std::function<bool()>& condition) {
    if (runtime.options().test_seed) {
      while (!condition())
        if (!runtime.run_one()) throw Error("coordinator", "no actor has work, but calls are open");
      return;
    }
    std::unique_lock lock(monitor->mutex);
    while (!condition())
      if (!monitor->changed.wait_for(lock, options.limit,
                                     [&, ended = monitor->ended] { return ended != monitor->ended; }))
        throw Error("coordinator", "no call has ended for " + std::to_string(options.limit.count() / 1000) +
                                       " s; there are " + std::to_string(monitor->workers) + " workers");
  }

  void throw_first_error() const {
    std::unique_lock lock(monitor->mutex);
    if (monitor->first_error.empty()) return;
    const auto error = std::exchange(monitor->first_error, {});
    lock.unlock();
    throw Error("coordinator", error);
  }

  Runtime runtime;
  std::shared_ptr<const CallFunctions> functions;
  CoordinatorOptions options;
  std::shared_ptr<CallMonitor> monitor = std::make_shared<CallMonitor>();
  std::shared_ptr<Variables> variables = std::make_shared<Variables>();
  caf::actor actor;
  std::mutex mutex;
  bool closed = false;
  std::map<int, int> added;  // by rank: Cluster::returns() of the process when it last became a worker
  int next_worker = 0;
  std::shared_ptr<const Cluster::OnReturned> on_returned;
};

Coordinator::Coordinator(const Runtime& runtime, CallFunctions functions, CoordinatorOptions options) {
  const int processes = options.cluster ? options.cluster->size() - 1 : 0;
  if (options.local_workers < 0 || options.local_workers + processes < 1)
    throw Error("coordinator", "needs at least one worker");
  if (options.cluster && options.cluster->rank() != 0)
    throw Error("coordinator", "is for rank 0; the others serve calls");
  if (options.limit <= std::chrono::milliseconds::zero()) throw Error("coordinator", "the limit must be above 0");
  (void)CallBoard(options.in_flight);
  options.limit = std::min(options.limit, kLongest);
  state_ = std::make_shared<State>(runtime, std::move(functions), std::move(options));
  for (int i = 0; i < state_->options.local_workers; ++i) state_->add_local_worker();
  if (state_->options.cluster) state_->add_processes();
}

Coordinator::~Coordinator() {
  const auto runtime = state_->runtime;
  state_->on_returned = nullptr;
  {
    std::lock_guard lock(state_->mutex);
    state_->closed = true;
  }
  state_.reset();
  if (!runtime.options().test_seed) return;
  while (runtime.run_one()) {
  }
}

Variables& Coordinator::variables() {
  return *state_->variables;
}

RemoteValue Coordinator::schedule(const std::string& function, std::vector<Tensor> inputs) {
  state_->throw_first_error();
  if (!state_->functions->contains(function)) throw Error("coordinator", "there is no function '" + function + "'");
  for (const auto& input : inputs)
    if (!input) throw Error("coordinator", "an input of '" + function + "' is no tensor");
  if (inputs.size() > kMostTensors) throw Error("coordinator", "'" + function + "' has too many inputs");
  auto call = std::make_shared<PendingCall>();
  call->call = {function, std::move(inputs)};
  RemoteValue value(call->result.get_future().share());
  {
    std::lock_guard lock(state_->monitor->mutex);
    ++state_->monitor->open;
  }
  post(state_->actor, CallScheduled{std::move(call)});
  return value;
}

bool Coordinator::done() const {
  std::lock_guard lock(state_->monitor->mutex);
  return state_->monitor->open == 0;
}

void Coordinator::join() {
  state_->wait_until([this] { return state_->monitor->open == 0; });
  state_->throw_first_error();
}

std::vector<Tensor> Coordinator::fetch(const RemoteValue& value) {
  state_->wait_until([&] { return value.is_ready(); });
  return value.result_.get();
}

int Coordinator::workers() const {
  std::lock_guard lock(state_->monitor->mutex);
  return state_->monitor->workers;
}

}  // namespace troupe
