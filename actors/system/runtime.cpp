#include "troupe/actors/system/runtime.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <cstdio>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "troupe/actors/caf/register_messages.hpp"
#include "troupe/actors/caf/scheduler.hpp"
#include "troupe/actors/messages/messages.hpp"
#include "troupe/actors/system/default_devices.hpp"
#include "troupe/actors/threads/thread_pinning.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/float_mode.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/core/signals_blocked.hpp"

namespace troupe {

namespace {

/// The Runtime::State of the runtime to whose actor system this thread belongs; null on other threads.
thread_local const void* runtime_of_thread = nullptr;

/// Whether the thread-local objects of this thread have been destroyed. The variable has no destructor, so that it can
/// be read afterwards.
thread_local bool thread_has_ended = false;

/// Makes sure that thread_has_ended becomes true when the thread-local objects of this thread are destroyed.
void note_end_of_thread() {
  struct AtEnd {
    ~AtEnd() { thread_has_ended = true; }
  };
  thread_local const AtEnd at_end;
  (void)&at_end;
}

/// Throws Error if `count` more threads cannot be made.
void try_threads(int count) {
  std::promise<void> end;
  const auto may_end = end.get_future().share();
  std::vector<std::thread> threads;
  std::string problem;
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back([may_end] { may_end.wait(); });
  } catch (const std::system_error& error) {
    problem = error.what();
  }
  end.set_value();
  for (auto& thread : threads) thread.join();
  if (!problem.empty()) throw Error("runtime", "no further thread can be made: " + problem);
}

}  // namespace

struct Runtime::State {
  explicit State(const RuntimeOptions& given) : options(given), looks_for_gpus(given.cpu_devices == 0) {
    if (options.cpu_devices < 0) throw Error("runtime", "the number of devices must not be negative");
    constexpr int kMostDevices = 65'536;
    if (options.cpu_devices > kMostDevices)
      throw Error("runtime", "the number of devices must be at most " + std::to_string(kMostDevices) + ", not " +
                                 std::to_string(options.cpu_devices));
    if (options.cpu_devices == 0) options.cpu_devices = usable_cores();
    if (options.test_seed) options.own_threads = false;
  }
  ~State() {
    if (left_behind.empty()) {
      destroy_system();
      return;
    }
    std::fprintf(stderr, "[runtime] %s never returned; its thread is left behind\n", left_behind.c_str());
    // The destructor of the actor system would wait forever for the thread that is stuck.
    (void)system.release();
    (void)config.release();
  }
  void destroy_system();

  RuntimeOptions options;
  bool looks_for_gpus;
  std::unique_ptr<caf::actor_system_config> config;
  std::unique_ptr<caf::actor_system> system;
  caf::actor_system* used = nullptr;
  std::once_flag devices_found;
  std::vector<Device> devices;
  std::uint64_t picks = 0;
  std::mutex mutex;
  std::string left_behind;
};

/// Destroys the actor system. CAF's destructor uses a thread-local object of the calling thread. A static Runtime is
/// destroyed after the thread-local objects of the main thread, so another thread then destroys the system.
void Runtime::State::destroy_system() {
  // Without threads, no actor has handled the messages for which the actor system waits.
  const auto run_rest = [one_by_one = options.test_seed.has_value()](caf::actor_system* of) {
    constexpr int kMostMessages = 1'000'000;
    for (int i = 0; one_by_one && of != nullptr && i < kMostMessages; ++i)
      if (!troupe::run_one(*of, [](std::size_t) { return std::size_t{0}; })) return;
  };
  if (!thread_has_ended || !system) {
    run_rest(system.get());
    return system.reset();
  }
  // The system is destroyed first, since it uses the configuration.
  auto held = std::make_shared<std::pair<decltype(config), decltype(system)>>(std::move(config), std::move(system));
  std::thread([held = std::move(held), run_rest]() mutable {
    run_rest(held->second.get());
    held.reset();
  }).join();
}

Runtime::Runtime(RuntimeOptions options) {
  note_end_of_thread();
  if (options.workers < 0) throw Error("runtime", "the number of workers must not be negative");
  constexpr int kMostWorkers = 4'096;
  if (options.workers > kMostWorkers)
    throw Error("runtime", "the number of workers must be at most " + std::to_string(kMostWorkers) + ", not " +
                               std::to_string(options.workers));
  if (options.workers == 0) options.workers = usable_cores();
  state_ = std::make_shared<State>(options);
  // CAF does not survive a failure to make a thread, so as many threads are tried before CAF makes its own.
  if (!options.test_seed) try_threads(options.workers + kThreadsOfCaf);
  state_->config = std::make_unique<caf::actor_system_config>();
  register_messages<caf::id_block::troupe>(*state_->config);
  const SignalsBlocked blocked;
  state_->system = make_actor_system(*state_->config, {.workers = static_cast<std::size_t>(options.workers),
                                                       .busy_poll = options.busy_poll,
                                                       .one_by_one = options.test_seed.has_value(),
                                                       .on_thread_start = [state = state_.get()] {
                                                         runtime_of_thread = state;
                                                         set_float_mode(kDefaultFloatMode);
                                                       }});
  state_->used = state_->system.get();
}

Runtime::Runtime(caf::actor_system& system, RuntimeOptions options) : state_(std::make_shared<State>(options)) {
  state_->used = &system;
}

caf::actor_system& Runtime::system() const {
  note_end_of_thread();
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
  return troupe::run_one(system(), [this](std::size_t count) { return draw(count); });
}

std::size_t Runtime::draw(std::size_t count) const {
  return static_cast<std::size_t>(uniform_below(count, state_->options.test_seed.value_or(0), 0, state_->picks++));
}

bool Runtime::on_own_thread() const {
  return runtime_of_thread == state_.get();
}

void Runtime::prefer_worker(const caf::actor& actor, int worker) const {
  troupe::prefer_worker(system(), actor, static_cast<std::size_t>(worker));
}

void Runtime::check_thread() const {
  try_threads(1);
}

void Runtime::leave_behind(const std::string& actor) const {
  std::lock_guard lock(state_->mutex);
  state_->left_behind += (state_->left_behind.empty() ? "" : ", ") + actor;
}

}  // namespace troupe
