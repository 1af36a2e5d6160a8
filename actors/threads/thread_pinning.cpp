#include "troupe/actors/threads/thread_pinning.hpp"

#include <sched.h>

#include <vector>

#include "troupe/actors/threads/cpu_quota.hpp"

namespace troupe {

namespace {

const std::vector<int>& allowed_cores() {
  // The affinity mask is read once, by the first call, which comes before any thread is bound: a bound thread would
  // read its own core only.
  static const std::vector<int> cores = [] {
    std::vector<int> allowed;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
      for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &set)) allowed.push_back(core);
    if (allowed.empty()) allowed.push_back(0);
    return allowed;
  }();
  return cores;
}

}  // namespace

int usable_cores() {
  static const int cores = cores_within(static_cast<int>(allowed_cores().size()), cpu_quota());
  return cores;
}

void pin_this_thread(int i) {
  const auto& cores = allowed_cores();
  // With a CPU quota below the number of cores, no thread is bound, and the operating system chooses the cores: other
  // containers share the cores and would bind their threads to the same ones.
  if (usable_cores() < static_cast<int>(cores.size())) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cores[static_cast<std::size_t>(i) % cores.size()], &set);
  sched_setaffinity(0, sizeof(set), &set);
}

void unpin_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : allowed_cores()) CPU_SET(core, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace troupe
