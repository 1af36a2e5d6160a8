// Three processes train, and one of them is killed in a chosen phase of the job while two busy loops load the machine.
// The others must end within the limit of silence plus max(1 s, 5 times the measured scheduling delay) and name the
// process. The time of a process that begins to join after the kill counts from then on.
//
//   kill_matrix [REPETITIONS [PHASE]]
//
// Prints a table with a row for each phase, in the format of Markdown. The moments are drawn from a fixed seed.

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>

#include "troupe/ops/core/random.hpp"
#include "troupe/ops/graph/function_kernel.hpp"
#include "troupe/ops/nn/layers.hpp"
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
/// The phases that a process has announced, and the times.
using Phases = std::vector<std::pair<std::string, Clock::time_point>>;

constexpr int kProcesses = 3;
/// The phases in the order in which a process announces them; `over` is no phase.
constexpr std::array kMatrixPhases{"before join", "joining",      "agreement",  "start values", "first step",
                                   "mid-run",     "between fits", "evaluation", "leaving",      "over"};
constexpr std::chrono::milliseconds kLostAfter{2'500};
/// How long the processes wait for one that does not come.
constexpr std::chrono::milliseconds kJoinLimit{5'000};

// ---- One process of the training

void announce(const std::string& phase) {
  std::cerr << "phase " << phase << "\n" << std::flush;
}

/// The identity, which announces the first step and the step after it.
const OpDef kAnnouncing{.name = "announcing",
                        .infer = [](const OpInputs& inputs) { return std::vector<TensorInfo>{inputs[0]}; },
                        .gradient = [](const OpGradient& g) { return std::vector<Value>{g.dys[0]}; }};

struct Announcing {
  static constexpr const char* kName = "announcing";
  Value operator()(Value x) const { return x.builder().apply_one(kAnnouncing, {x}); }
};

void register_announcing() {
  register_op(kAnnouncing);
  register_kernel(kAnnouncing, DeviceType::cpu, [](const OpCall&) {
    return function_kernel([calls = 0](std::span<const Tensor> in, std::span<const Tensor> out) mutable {
      static int all_calls = 0;
      if (calls++ < 2 && all_calls < 2) announce(all_calls++ == 0 ? "first step" : "mid-run");
      std::memcpy(out[0].mutable_raw(), in[0].raw(), in[0].bytes());
    });
  });
}

Dataset data_of_matrix() {
  constexpr std::int64_t kRows = 600, kFeatures = 64;
  Tensor features(Shape{kRows, kFeatures}, DType::float32), labels(Shape{kRows}, DType::int32);
  for (std::int64_t i = 0; i < features.elements(); ++i)
    features.mutable_data<float>()[i] = uniform(1, 0, static_cast<std::uint64_t>(i));
  for (std::int64_t i = 0; i < kRows; ++i) labels.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 10);
  return Dataset::from_arrays({{"x", features}, {"y", labels}}).shuffle(kRows).batch(12);
}

void train(int rank, int port) {
  announce("before join");
  register_announcing();
  ClusterOptions options;
  options.job = resolve_job({rank, kProcesses, "127.0.0.1:" + std::to_string(port)});
  options.limit = kJoinLimit;
  options.heartbeat_limit = kLostAfter;
  announce("joining");
  const auto cluster = join_cluster(options);
  announce("agreement");
  for (std::uint64_t i = 0; i < 20; ++i) cluster->agree("round " + std::to_string(i), i, [] { return ""; });
  const MultiWorkerMirrored strategy(*cluster, {Device{}});
  announce("start values");
  const Runtime runtime({.workers = 1});
  const Sequential model{Dense{256, relu}, Announcing{}, Dense{10}};
  Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.01}, SoftmaxCrossEntropy{}, {.cluster = cluster});
  trainer.fit(data_of_matrix(), {.epochs = 2});
  announce("between fits");
  trainer.fit(data_of_matrix(), {.epochs = 0});
  trainer.fit(data_of_matrix(), {.max_steps = 1});
  announce("evaluation");
  trainer.evaluate(data_of_matrix());
  announce("leaving");
  cluster->leave();
  announce("over");
}

int run_child(int rank, int port) {
  try {
    train(rank, port);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}

// ---- The parent, which starts and kills processes

class Job {
 public:
  Job() {
    for (int rank = 0; rank < kProcesses; ++rank) {
      const auto number = std::to_string(rank), port = std::to_string(port_.number());
      processes_.emplace_back(std::vector<std::string>{"kill_matrix", "child", number, port});
      phases_.emplace_back();
    }
  }

  const ChildProcess& operator[](int rank) const { return processes_[static_cast<std::size_t>(rank)]; }
  const Phases& phases(int rank) const { return phases_[static_cast<std::size_t>(rank)]; }
  bool is_in(int rank, const std::string& phase) const { return time_of(rank, phase).has_value(); }
  /// The time at which a process has announced a phase; nothing if it has not.
  std::optional<Clock::time_point> time_of(int rank, const std::string& phase) const {
    const auto entry = std::ranges::find(phases(rank), phase, &Phases::value_type::first);
    return entry != phases(rank).end() ? std::optional(entry->second) : std::nullopt;
  }
  bool ended() const { return std::ranges::all_of(processes_, &ChildProcess::ended); }

  /// Looks at the processes until `holds` returns true, at most for `limit`.
  template <class Condition>
  bool wait_until(std::chrono::milliseconds limit, const Condition& holds) {
    const auto deadline = Clock::now() + limit;
    while (true) {
      for (std::size_t rank = 0; rank < processes_.size(); ++rank) look_at(rank);
      if (holds()) return true;
      if (Clock::now() >= deadline) return false;
      wait_for_output(processes_, std::chrono::milliseconds(2));
    }
  }

 private:
  /// Notes the phases that the process has announced since the last look.
  void look_at(std::size_t rank) {
    processes_[rank].look();
    auto& phases = phases_[rank];
    std::istringstream lines(processes_[rank].text());
    std::size_t count = 0;
    // The last line may be incomplete.
    for (std::string line; std::getline(lines, line) && !lines.eof() && line.starts_with("phase ");)
      if (count++ == phases.size()) phases.emplace_back(line.substr(6), Clock::now());
  }

  testing::ReservedPort port_;
  std::vector<ChildProcess> processes_;
  std::vector<Phases> phases_;
};

/// The durations of the phases, in microseconds, of a job in which no process is killed.
std::vector<std::uint64_t> rehearse() {
  Job job;
  job.wait_until(10 * testing::patience(), [&] { return job.ended(); });
  const auto& phases = job.phases(0);
  if (phases.size() != kMatrixPhases.size()) throw Error("kill_matrix", "the rehearsal fails: " + job[0].text());
  std::vector<std::uint64_t> durations;
  for (std::size_t i = 0; i + 1 < phases.size(); ++i)
    durations.push_back(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(phases[i + 1].second - phases[i].second).count()));
  return durations;
}

struct Trial {
  std::string wrong;
  double seconds = 0.0, delay = 0.0;
};

/// Returns why a survivor has not ended as it must; empty if it has.
std::string complaint(const ChildProcess& survivor, int victim, bool may_have_left) {
  if (!survivor.ended()) return "does not end";
  if (may_have_left && survivor.status() == 0) return "";
  if (!WIFEXITED(survivor.status()) || WEXITSTATUS(survivor.status()) != 1) return "has the wrong status";
  const auto number = std::to_string(victim);
  const bool named = survivor.text().find("process " + number) != std::string::npos ||
                     survivor.text().find("rank " + number) != std::string::npos;
  return named ? "" : "does not name the process";
}

/// Kills a process `delay` microseconds after it has announced the phase.
Trial try_phase(const std::string& phase, int victim, std::uint64_t delay) {
  const testing::SchedulingProbe probe;
  Job job;
  Trial trial;
  if (!job.wait_until(testing::patience(), [&] { return job.is_in(victim, phase); }))
    return {"process " + std::to_string(victim) + " does not come to the phase: " + job[victim].text()};
  const auto moment = Clock::now() + std::chrono::microseconds(delay);
  job.wait_until(std::chrono::duration_cast<std::chrono::milliseconds>(moment - Clock::now()), [] { return false; });
  job[victim].signal(SIGKILL);
  const auto since = Clock::now();
  job.wait_until(testing::patience() + 2 * kJoinLimit, [&] { return job.ended(); });
  trial.delay = std::chrono::duration<double>(probe.worst_delay()).count();
  // A process that has not joined is no member yet: the others wait for it until the limit of the rendezvous. A process
  // that begins to join later than the kill cannot know of it.
  const bool may_not_join = phase == "before join" || phase == "joining";
  const double limit =
      std::chrono::duration<double>(may_not_join ? kJoinLimit : kLostAfter).count() + std::max(1.0, 5.0 * trial.delay);
  // A phase may be shorter than in the rehearsal, and the victim may have done its part of leave() before it was
  // killed.
  const bool may_have_left = job.is_in(victim, "leaving");
  for (int rank = 0; rank < kProcesses; ++rank) {
    if (rank == victim) continue;
    const auto& survivor = job[rank];
    auto why = complaint(survivor, victim, may_have_left);
    const auto waits_since = std::max(since, job.time_of(rank, "joining").value_or(since));
    const double seconds = std::chrono::duration<double>(survivor.ended_at() - waits_since).count();
    trial.seconds = std::max(trial.seconds, survivor.ended() ? seconds : 0.0);
    if (why.empty() && seconds > limit) why = "takes " + std::to_string(seconds) + " s";
    if (!why.empty())
      trial.wrong += "  rank " + std::to_string(rank) + " " + why + " (rank " + std::to_string(victim) +
                     " killed): " + survivor.text() + "\n";
  }
  return trial;
}

/// Processes that compute without end, to load the machine.
class BusyLoops {
 public:
  explicit BusyLoops(int count) {
    for (int i = 0; i < count; ++i) {
      const auto pid = fork();
      if (pid == 0) {
        // The loop ends with this program even if a signal ends the program.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (std::atomic<unsigned> number{0};;) ++number;
      }
      pids_.push_back(pid);
    }
  }
  ~BusyLoops() {
    for (const auto pid : pids_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  BusyLoops(const BusyLoops&) = delete;
  BusyLoops& operator=(const BusyLoops&) = delete;

 private:
  std::vector<pid_t> pids_;
};

/// Returns the number of trials of a phase that have failed, and prints its row.
int run_phase(std::size_t number, int repetitions, std::uint64_t duration) {
  const std::string phase = kMatrixPhases[number];
  int failed = 0;
  Trial worst;
  for (int i = 0; i < repetitions; ++i) {
    const auto victim = static_cast<int>(uniform_below(kProcesses, 1, number, static_cast<std::uint64_t>(i)));
    const auto delay = uniform_below(std::max<std::uint64_t>(1, duration), 2, number, static_cast<std::uint64_t>(i));
    const auto trial = try_phase(phase, victim, delay);
    failed += trial.wrong.empty() ? 0 : 1;
    if (!trial.wrong.empty()) std::cerr << "FAILED: " << phase << ", moment " << i << "\n" << trial.wrong;
    worst.seconds = std::max(worst.seconds, trial.seconds);
    worst.delay = std::max(worst.delay, trial.delay);
  }
  std::cout << std::fixed << std::setprecision(2) << "| " << phase << " | " << repetitions << " | "
            << repetitions - failed << " | " << worst.seconds << " | " << worst.delay << " |" << std::endl;
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "child") return run_child(std::atoi(argv[2]), std::atoi(argv[3]));
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 10;
  const BusyLoops busy_loops(2);
  const auto durations = rehearse();
  std::cout << "| phase | killed | ended in time, by name | longest s | scheduling delay s |\n|---|---|---|---|---|\n";
  int failed = 0;
  for (std::size_t number = 0; number + 1 < kMatrixPhases.size(); ++number)
    if (argc < 3 || std::string(argv[2]) == kMatrixPhases[number])
      failed += run_phase(number, repetitions, durations[number]);
  return failed == 0 ? 0 : 1;
}
