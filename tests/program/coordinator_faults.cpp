// A coordinator whose workers, processes that this program starts, are killed or stopped at random moments: every call
// comes to its end, and adds to the variables exactly once.
//
//   coordinator_faults [REPETITIONS]

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>

#include "troupe/actors/calls/coordinator.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/reserved_port.hpp"
#include "troupe/tests/scheduling_probe.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace {

using namespace troupe;

constexpr int kProcesses = 4;
constexpr int kCalls = 400;
/// How long a process may be silent.
constexpr std::chrono::milliseconds kSilence{1'000};

/// The rendezvous of a job, and the longest silence of a process.
struct Meeting {
  std::string address;
  std::chrono::milliseconds silence;
};

ClusterOptions options_of(int rank, const Meeting& meeting) {
  ClusterOptions options;
  options.job = resolve_job({rank, kProcesses, meeting.address});
  options.limit = testing::patience();
  options.heartbeat_limit = meeting.silence;
  return options;
}

/// Long enough to be killed in.
const CallFunctions kFunctions{{"count", [](RemoteCall& call) {
                                  double work = 0.0;
                                  for (int i = 1; i < 300'000; ++i) work += 1.0 / i;
                                  call.add("sum", Tensor::scalar(1.0F));
                                  call.add("work", Tensor::scalar(work > 0.0 ? 1.0F : 0.0F));
                                  return std::vector{call.read("sum"), call.input(0)};
                                }}};

/// A worker's process, which ends with this program.
pid_t start_worker(int rank, const Meeting& meeting) {
  const auto child = fork();
  if (child != 0) return child;
  try {
    const Runtime runtime({.workers = 1});
    const auto cluster = join_cluster(options_of(rank, meeting));
    serve_calls(runtime, cluster, kFunctions);
    cluster->leave();
    std::_Exit(0);
  } catch (const std::exception&) {
    std::_Exit(1);  // it was given up
  }
}

struct Workers {
  explicit Workers(const Meeting& meeting) {
    for (int rank = 1; rank < kProcesses; ++rank) processes[rank] = start_worker(rank, meeting);
  }
  ~Workers() {
    for (const auto& [rank, process] : processes) {
      kill(process, SIGCONT);
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  std::map<int, pid_t> processes;
};

/// Nothing, or what is wrong.
std::string run(std::uint64_t seed, std::chrono::milliseconds silence) {
  const auto draw = [&](std::uint64_t stream, std::uint64_t below) { return uniform_below(below, seed, stream, 0); };
  const testing::ReservedPort port;
  const Meeting meeting{port.address(), silence};
  // Before there are threads.
  Workers workers(meeting);
  const Runtime runtime({.workers = 1});
  const auto cluster = join_cluster(options_of(0, meeting));
  Coordinator coordinator(runtime, kFunctions, {.cluster = cluster, .in_flight = 3, .limit = testing::patience()});
  coordinator.variables().create("sum", Tensor::scalar(0.0F));
  coordinator.variables().create("work", Tensor::scalar(0.0F));
  std::vector<RemoteValue> values;
  for (int i = 0; i < kCalls; ++i)
    values.push_back(coordinator.schedule("count", {Tensor::scalar(static_cast<float>(i))}));
  for (const std::uint64_t victim : {1 + draw(1, 3), 1 + draw(2, 3)}) {
    const auto moment = draw(3 + victim, kCalls);
    coordinator.fetch(values[moment]);
    const auto process = workers.processes.at(static_cast<int>(victim));
    kill(process, draw(7 + victim, 3) == 0 ? SIGSTOP : SIGKILL);
  }
  coordinator.join();
  const auto sum = coordinator.variables().read("sum").item<float>();
  if (sum != static_cast<float>(kCalls)) return "the sum is " + std::to_string(sum);
  if (coordinator.variables().updates_of("work") != kCalls) return "an update was lost or made twice";
  for (int i = 0; i < kCalls; ++i)
    if (coordinator.fetch(values[static_cast<std::size_t>(i)]).at(1).item<float>() != static_cast<float>(i))
      return "call " + std::to_string(i) + " gave what belongs to another";
  return {};
}

/// run() in a process of its own, so that workers are started before there are threads.
std::string run_in_process(int seed, std::chrono::milliseconds silence) {
  const auto child = fork();
  if (child == 0) {
    std::string wrong;
    try {
      wrong = run(static_cast<std::uint64_t>(seed), silence);
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    if (!wrong.empty()) std::cerr << "seed " << seed << ": " << wrong << std::endl;
    std::_Exit(wrong.empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? "" : "failed";
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 5;
  // Measured before children use it.
  testing::patience();
  int failed = 0;
  for (int seed = 0; seed < repetitions; ++seed) {
    const auto wrong = testing::keeps_promise(
        kSilence, [seed](std::chrono::milliseconds silence) { return run_in_process(seed, silence); });
    failed += wrong.empty() ? 0 : 1;
  }
  std::cout << repetitions - failed << " passed, " << failed << " failed" << std::endl;
  return failed == 0 ? 0 : 1;
}
