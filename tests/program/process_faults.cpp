// Trainings over processes in which one of them is killed, stopped or throws: each of the others must end by itself,
// soon, with an exit status other than 0 and a line that names the culprit. This program starts the processes itself.
//
//   process_faults [REPETITIONS [WORLD_SIZE]]

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/graph/function_kernel.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/strategies/multi_worker_mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/tests/child_process.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/reserved_port.hpp"
#include "troupe/tests/scheduling_probe.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace {

using namespace troupe;
using testing::ChildProcess;
using Clock = std::chrono::steady_clock;

constexpr std::array kFaults{"start", "rendezvous", "exchange", "step", "exit", "freeze", "exception", "stop", "none"};
/// How long a process may be silent. Other limits are parts of it.
constexpr std::chrono::milliseconds kSilence{2'000};

std::chrono::milliseconds rendezvous_limit(std::chrono::milliseconds silence) {
  return 2 * silence;
}
/// The longest that survivors take to end once a process is gone or stopped.
std::chrono::milliseconds survivor_limit(std::chrono::milliseconds silence) {
  return 3 * silence / 2;
}

// ---- One process of a training

struct Child {
  int rank, world_size, port;
  std::string fault;
  int victim;
  std::uint64_t seed;
  std::chrono::milliseconds silence;

  bool is_victim() const { return rank == victim; }
  std::uint64_t draw(std::uint64_t below, std::uint64_t stream) const { return uniform_below(below, seed, stream, 0); }
};

/// The identity; on one process it throws at some step.
const OpDef kFragile{.name = "fragile",
                     .infer = [](const OpInputs& inputs) { return std::vector<TensorInfo>{inputs[0]}; },
                     .gradient = [](const OpGradient& g) { return std::vector<Value>{g.dys[0]}; }};

void register_fragile(const Child& child) {
  register_op(kFragile);
  register_kernel(kFragile, DeviceType::cpu, [child](const OpCall&) {
    const auto at = static_cast<int>(child.draw(20, 1));
    return function_kernel([child, at, calls = 0](std::span<const Tensor> in, std::span<const Tensor> out) mutable {
      if (child.is_victim() && child.fault == "exception" && calls++ == at) throw std::runtime_error("[fragile] broke");
      std::memcpy(out[0].mutable_raw(), in[0].raw(), in[0].bytes());
    });
  });
}

struct Fragile {
  static constexpr const char* kName = "fragile";
  Value operator()(Value x) const { return x.builder().apply_one(kFragile, {x}); }
};

Dataset random_data() {
  constexpr std::int64_t kRows = 640, kFeatures = 256;
  Tensor features(Shape{kRows, kFeatures}, DType::float32), labels(Shape{kRows}, DType::int32);
  for (std::int64_t i = 0; i < features.elements(); ++i)
    features.mutable_data<float>()[i] = uniform(1, 0, static_cast<std::uint64_t>(i));
  for (std::int64_t i = 0; i < kRows; ++i) labels.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 10);
  return Dataset::from_arrays({{"x", features}, {"y", labels}}).shuffle(kRows).batch(16);
}

/// A timer of the kernel kills or stops this process at a moment drawn from the seed.
void arm(const Child& child, std::uint64_t below_ms, int signal) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = signal;
  timer_t timer{};
  const auto milliseconds = static_cast<long>(child.draw(below_ms, 2)),
             microseconds = static_cast<long>(child.draw(1'000, 3));
  // A time of zero would disarm the timer.
  const itimerspec moment{{}, {0, 1'000'000 * milliseconds + 1'000 * microseconds + 1}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &moment, nullptr) != 0)
    throw Error("process_faults", "the kernel makes no timer");
}

void train(const Child& child) {
  if (child.is_victim() && child.fault == "start") kill(getpid(), SIGKILL);
  if (child.is_victim() && child.fault == "rendezvous") arm(child, 60, SIGKILL);
  register_fragile(child);
  ClusterOptions options;
  options.job = resolve_job({child.rank, child.world_size, "127.0.0.1:" + std::to_string(child.port)});
  options.limit = rendezvous_limit(child.silence);
  options.heartbeat_limit = child.silence;
  const auto cluster = join_cluster(options);
  const Runtime runtime({.workers = 1});
  const MultiWorkerMirrored strategy(*cluster, {Device{}}, {.first_bucket_bytes = 1 << 22, .bucket_bytes = 1 << 22});
  const Sequential model{Dense{4096, relu}, Fragile{}, Dense{10}};
  Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.01}, SoftmaxCrossEntropy{}, {.cluster = cluster});
  bool armed = false;
  FitOptions fit{.epochs = child.fault == "exit" || child.fault == "none" ? 1 : 1000};
  fit.on_step = [&](const StepMetrics&) {
    if (!child.is_victim() || std::exchange(armed, true)) return;
    if (child.fault == "step") kill(getpid(), SIGKILL);
    if (child.fault == "exchange") arm(child, 200, SIGKILL);
    if (child.fault == "freeze") arm(child, 200, SIGSTOP);
  };
  const auto until = Clock::now() + std::chrono::milliseconds(200 + child.draw(300, 4));
  fit.stop_requested = [&] { return child.fault == "stop" && child.is_victim() && Clock::now() > until; };
  const auto result = trainer.fit(random_data(), fit);
  std::cerr << "trained " << result.steps << " steps to " << trainer.parameters().hash() << std::endl;
  if (child.is_victim() && child.fault == "exit") kill(getpid(), SIGKILL);
  cluster->leave();
}

int run_child(char** argv) {
  const Child child{std::atoi(argv[2]),
                    std::atoi(argv[3]),
                    std::atoi(argv[4]),
                    argv[5],
                    std::atoi(argv[6]),
                    static_cast<std::uint64_t>(std::atoll(argv[7])),
                    std::chrono::milliseconds(std::atoi(argv[8]))};
  try {
    train(child);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}

// ---- The parent, which starts the processes and looks how they end

bool all_settled(std::vector<ChildProcess>& processes) {
  for (auto& process : processes) process.look();
  return std::ranges::all_of(processes, [](const auto& process) { return process.ended() || process.stopped(); });
}

/// What is wrong with how a survivor ended; empty if nothing is.
std::string complaint(const ChildProcess& process, const std::string& fault, int victim, Clock::time_point since,
                      std::chrono::milliseconds silence) {
  const auto name = fault == "exception" ? std::vector<std::string>{"[fragile] broke", "rank " + std::to_string(victim)}
                    : fault == "start"
                        ? std::vector<std::string>{victim == 0 ? "rank 0" : "rank " + std::to_string(victim)}
                    : fault == "rendezvous" ? std::vector<std::string>{std::to_string(victim)}
                                            : std::vector<std::string>{"process " + std::to_string(victim)};
  if (!process.ended()) return "does not end";
  if (fault == "none" || fault == "stop") return process.status() == 0 ? "" : "fails";
  if (!WIFEXITED(process.status()) || WEXITSTATUS(process.status()) != 1) return "has the wrong status";
  for (const auto& text : name)
    if (process.text().find(text) == std::string::npos) return "does not say '" + text + "'";
  const bool may_not_meet = fault == "start" || fault == "rendezvous";
  const auto limit =
      survivor_limit(silence) + (may_not_meet ? rendezvous_limit(silence) : std::chrono::milliseconds(0));
  if (process.ended_at() - since > limit) return "takes too long";
  return "";
}

/// One training with one fault. Returns what is wrong with it.
std::string try_fault(const std::string& fault, int world_size, std::uint64_t seed, std::chrono::milliseconds silence) {
  const auto victim = static_cast<int>(uniform_below(static_cast<std::uint64_t>(world_size), seed, 9, 0));
  const testing::ReservedPort port;
  std::vector<ChildProcess> processes;
  for (int rank = 0; rank < world_size; ++rank)
    processes.emplace_back(std::vector<std::string>{
        "process_faults", "child", std::to_string(rank), std::to_string(world_size), std::to_string(port.number()),
        fault, std::to_string(victim), std::to_string(seed), std::to_string(silence.count())});
  const auto begin = Clock::now();
  while (!all_settled(processes) && Clock::now() - begin < testing::patience() + 10 * silence)
    // No output shows that a process is stopped.
    wait_for_output(processes, std::chrono::milliseconds(20));
  const auto since = std::max(begin, processes[static_cast<std::size_t>(victim)].ended_at());
  std::string wrong;
  std::string last_words;
  for (int rank = 0; rank < world_size; ++rank) {
    auto& process = processes[static_cast<std::size_t>(rank)];
    const bool survives = rank != victim || fault == "exception" || fault == "stop" || fault == "none";
    const auto trained = process.text().find("trained");
    if ((fault == "stop" || fault == "none") && trained != std::string::npos) {
      const auto words = process.text().substr(trained);
      if (!last_words.empty() && words != last_words) wrong += "ranks end differently: " + last_words + words;
      last_words = words;
    }
    const auto why = survives ? complaint(process, fault, victim, since, silence) : "";
    if (!why.empty())
      wrong +=
          "  rank " + std::to_string(rank) + " " + why + " (victim " + std::to_string(victim) + "):\n" + process.text();
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 9 && std::string(argv[1]) == "child") return run_child(argv);
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 20;
  const int world_size = argc > 2 ? std::atoi(argv[2]) : 3;
  int passed = 0, failed = 0;
  for (const std::string fault : kFaults) {
    if (argc > 3 && fault != argv[3]) continue;
    for (int i = 0; i < repetitions; ++i) {
      const auto wrong = testing::keeps_promise(kSilence, [&](std::chrono::milliseconds silence) {
        return try_fault(fault, world_size, static_cast<std::uint64_t>(i), silence);
      });
      wrong.empty() ? ++passed : ++failed;
      if (!wrong.empty()) std::cout << "FAILED: " << fault << ", seed " << i << "\n" << wrong << std::endl;
    }
    std::cout << fault << ": " << repetitions << " times" << std::endl;
  }
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return failed == 0 ? 0 : 1;
}
