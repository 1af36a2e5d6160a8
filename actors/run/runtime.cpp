#include "troupe/actors/run/runtime.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/coordinator.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/settings.hpp>
#include <caf/thread_hook.hpp>
#include <cstdio>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>

#include "troupe/actors/run/default_devices.hpp"
#include "troupe/actors/run/messages.hpp"
#include "troupe/actors/run/thread_pinning.hpp"
#include "troupe/actors/run/work_sharing.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"

namespace troupe {

namespace {

/// The runtime whose actors this thread runs.
thread_local const void* runtime_of_thread = nullptr;

/// Notes on every thread of an actor system whose it is.
class ThreadMark : public caf::thread_hook {
 public:
  explicit ThreadMark(const void* runtime) : runtime_(runtime) {}
  void init(caf::actor_system&) override {}
  void thread_started() override { runtime_of_thread = runtime_; }
  void thread_terminates() override {}

 private:
  const void* runtime_;
};

/// Actors of a busy system take turns after that many messages; without a limit one that sends itself mail starves the
/// others when there is one worker.
constexpr std::size_t kMessagesPerTurn = 256;

void try_threads(int count) {
  std::promise<void> all_made;
  const auto made = all_made.get_future().share();
  std::vector<std::thread> threads;
  std::string problem;
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back([made] { made.wait(); });
  } catch (const std::system_error& error) {
    problem = error.what();
  }
  all_made.set_value();
  for (auto& thread : threads) thread.join();
  if (!problem.empty()) throw Error("runtime", "no further thread can be made: " + problem);
}

}  // namespace

struct Runtime::State {
  ~State() {
    if (left_behind.empty()) return;
    std::fprintf(stderr, "[runtime] %s never returned; its thread is left behind\n", left_behind.c_str());
    // Taking the actor system down would wait for it for ever.
    (void)system.release();
    (void)config.release();
  }

  RuntimeOptions options;
  std::unique_ptr<caf::actor_system_config> config;
  std::unique_ptr<caf::actor_system> system;
  caf::actor_system* used = nullptr;
  bool looks_for_gpus = false;
  std::once_flag devices_found;
  std::vector<Device> devices;
  std::uint64_t picks = 0;
  std::mutex mutex;
  std::string left_behind;
};

Runtime::Runtime(RuntimeOptions options) : state_(std::make_shared<State>()) {
  if (options.workers < 0) throw Error("runtime", "the number of workers must not be negative");
  if (options.cpu_devices < 0) throw Error("runtime", "the number of devices must not be negative");
  if (options.workers == 0) options.workers = usable_cores();
  state_->looks_for_gpus = options.cpu_devices == 0;
  if (options.cpu_devices == 0) options.cpu_devices = usable_cores();
  if (options.test_seed) options.own_threads = false;
  state_->options = options;
  // CAF has further threads beside the workers, and does not survive one that cannot be made.
  constexpr int kThreadsOfCaf = 2;
  if (!options.test_seed) try_threads(options.workers + kThreadsOfCaf);
  state_->config = std::make_unique<caf::actor_system_config>();
  auto& config = *state_->config;
  config.add_message_types<caf::id_block::troupe>();
  config.add_thread_hook<ThreadMark>(static_cast<const void*>(state_.get()));
  config.set("scheduler.max-threads", static_cast<std::size_t>(options.workers));
  config.set("scheduler.max-throughput", kMessagesPerTurn);
  if (options.test_seed) {
    config.set("scheduler.policy", caf::atom("testing"));
  } else {
    caf::put(config.content, std::string(WorkSharing::kPollOption),
             static_cast<std::size_t>(options.busy_poll.count()));
    config.load<caf::scheduler::coordinator<WorkSharing>>();
  }
  state_->system = std::make_unique<caf::actor_system>(config);
  state_->used = state_->system.get();
}

Runtime::Runtime(caf::actor_system& system, RuntimeOptions options) : state_(std::make_shared<State>()) {
  if (options.cpu_devices < 0) throw Error("runtime", "the number of devices must not be negative");
  state_->looks_for_gpus = options.cpu_devices == 0;
  if (options.cpu_devices == 0) options.cpu_devices = usable_cores();
  if (options.test_seed) options.own_threads = false;
  state_->options = options;
  state_->used = &system;
}

caf::actor_system& Runtime::system() const {
  return *state_->used;
}

const std::vector<Device>& Runtime::devices() const {
  std::call_once(state_->devices_found, [&state = *state_] {
    const auto cores = state.options.cpu_devices;
    if (state.looks_for_gpus)
      state.devices = default_devices(cores);
    else
      for (int i = 0; i < cores; ++i) state.devices.push_back({DeviceType::cpu, i});
  });
  return state_->devices;
}

const RuntimeOptions& Runtime::options() const {
  return state_->options;
}

bool Runtime::run_one() const {
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system().scheduler());
  if (scheduler.jobs.empty()) return false;
  std::swap(scheduler.jobs.front(), scheduler.jobs[draw(scheduler.jobs.size())]);
  return scheduler.try_run_once();
}

std::size_t Runtime::draw(std::size_t count) const {
  return static_cast<std::size_t>(uniform_below(count, state_->options.test_seed.value_or(0), 0, state_->picks++));
}

bool Runtime::on_own_thread() const {
  return runtime_of_thread == state_.get();
}

void Runtime::prefer_worker(const caf::actor& actor, int worker) const {
  auto* scheduler = dynamic_cast<caf::scheduler::coordinator<WorkSharing>*>(&system().scheduler());
  if (scheduler != nullptr) scheduler->data().homes.set(actor.id(), static_cast<std::size_t>(worker));
}

void Runtime::check_thread() const {
  try_threads(1);
}

void Runtime::leave_behind(const std::string& actor) const {
  std::lock_guard lock(state_->mutex);
  state_->left_behind += (state_->left_behind.empty() ? "" : ", ") + actor;
}

}  // namespace troupe
