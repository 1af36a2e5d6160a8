#include "troupe/actors/run/runtime.hpp"

#include <caf/scheduler/test_coordinator.hpp>

#include "troupe/actors/run/messages.hpp"
#include "troupe/actors/run/thread_pinning.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"

namespace troupe {

Runtime::Runtime(RuntimeOptions options) : options_(options) {
  if (options.workers < 0) throw Error("runtime", "the number of workers must not be negative");
  if (options.cpu_devices < 0) throw Error("runtime", "the number of devices must not be negative");
  if (options_.workers == 0) options_.workers = usable_cores();
  if (options_.cpu_devices == 0) options_.cpu_devices = usable_cores();
  if (options_.test_seed) options_.own_threads = false;
  for (int i = 0; i < options_.cpu_devices; ++i) devices_.push_back({DeviceType::cpu, i});
  config_.add_message_types<caf::id_block::troupe>();
  config_.set("scheduler.max-threads", static_cast<std::size_t>(options_.workers));
  // One queue for all workers: on few cores it wakes a thread in a quarter of the time that work stealing takes.
  config_.set("scheduler.policy", options_.test_seed ? caf::atom("testing") : caf::atom("sharing"));
  system_ = std::make_unique<caf::actor_system>(config_);
}

bool Runtime::run_one() {
  auto& jobs = dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler()).jobs;
  if (jobs.empty()) return false;
  const auto pick = uniform_below(jobs.size(), *options_.test_seed, 0, picks_++);
  std::swap(jobs.front(), jobs[pick]);
  return dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler()).try_run_once();
}

}  // namespace troupe
