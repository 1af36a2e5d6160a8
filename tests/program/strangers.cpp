// Three processes train while a process of another user floods every socket at which they listen. Each process must
// come to the parameters of a training without strangers, take at most 64 MiB more memory than there, and write at most
// one line a second.
//
//   strangers [STEPS [CONNECTIONS [SCENARIO]]]
//
// Prints a table with a row for each scenario, in the format of Markdown. The flood is drawn from a fixed seed. Skipped
// with a line if this program may not change its user.

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/multi_worker_mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/tests/child_process.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/program/flood.hpp"
#include "troupe/tests/reserved_port.hpp"
#include "troupe/transport/membership/cluster.hpp"
#include "troupe/transport/secret.hpp"

namespace {

using namespace troupe;
using testing::ChildProcess;
using Clock = std::chrono::steady_clock;

constexpr int kProcesses = 3;
constexpr std::int64_t kMemoryLimit = 64;  // MiB
constexpr uid_t kNobody = 65'534;
constexpr const char* kTraining = "training\n";

struct Scenario {
  const char* name;
  const char* bind;
  bool same_host;  ///< whether data does not travel over TCP
  bool joining;    ///< whether the flood begins before the last process starts
};
constexpr std::array kScenarios{
    Scenario{"loopback", "", true, false}, Scenario{"loopback, data over TCP", "", false, false},
    Scenario{"any", "any", true, false}, Scenario{"any, data over TCP", "any", false, false},
    Scenario{"any, last process joins late", "any", true, true}};

// ---- One process of the training

std::int64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
  throw Error("strangers", "the kernel does not say how much memory the process takes");
}

Dataset data_of_strangers() {
  constexpr std::int64_t kRows = 600, kFeatures = 256;
  Tensor features(Shape{kRows, kFeatures}, DType::float32), labels(Shape{kRows}, DType::int32);
  for (std::int64_t i = 0; i < features.elements(); ++i)
    features.mutable_data<float>()[i] = uniform(1, 0, static_cast<std::uint64_t>(i));
  for (std::int64_t i = 0; i < kRows; ++i) labels.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 10);
  return Dataset::from_arrays({{"x", features}, {"y", labels}}).shuffle(kRows).batch(12);
}

void train(const Scenario& scenario, int rank, const std::string& rendezvous, std::int64_t steps) {
  ClusterOptions options;
  options.job = resolve_job({rank, kProcesses, rendezvous});
  options.bind = scenario.bind;
  options.same_host = scenario.same_host;
  options.on_notice = [](const std::string& line) { std::cerr << line + "\n" << std::flush; };
  const auto cluster = join_cluster(options);
  const MultiWorkerMirrored strategy(*cluster, {Device{}});
  const Runtime runtime({.workers = 1});
  const Sequential model{Dense{1024, relu}, Dense{1024, relu}, Dense{10}};
  Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.01}, SoftmaxCrossEntropy{}, {.cluster = cluster});
  FitOptions fit{.epochs = 1'000'000, .max_steps = steps};
  fit.on_step = [said = false](const StepMetrics&) mutable {
    if (!std::exchange(said, true)) std::cerr << kTraining << std::flush;
  };
  trainer.fit(data_of_strangers(), fit);
  std::cerr << "parameters " + trainer.parameters().hash() + "\npeak " + std::to_string(peak_kib()) + "\n"
            << std::flush;
  cluster->leave();
}

int run_child(char** argv) {
  try {
    train(kScenarios.at(static_cast<std::size_t>(std::atoi(argv[2]))), std::atoi(argv[3]), argv[4],
          std::atoll(argv[5]));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}

// ---- The stranger

/// A process of another user that floods the listeners of the job until report() is called.
class FloodingProcess {
 public:
  FloodingProcess(const std::vector<std::string>& addresses, int connections) {
    if (pipe(stop_.data()) != 0 || pipe(report_.data()) != 0) throw Error("strangers", "the kernel makes no pipe");
    pid_ = fork();
    if (pid_ != 0) return;
    if (setresgid(kNobody, kNobody, kNobody) != 0 || setresuid(kNobody, kNobody, kNobody) != 0) _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(stop_[1]);
    const auto count = testing::flood(addresses, connections, 7, stop_[0]);
    (void)!write(report_[1], &count, sizeof count);
    _exit(0);
  }
  ~FloodingProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    for (const auto end : {stop_[0], stop_[1], report_[0], report_[1]}) close(end);
  }
  FloodingProcess(const FloodingProcess&) = delete;
  FloodingProcess& operator=(const FloodingProcess&) = delete;

  testing::FloodCount report() {
    testing::FloodCount count;
    (void)!write(stop_[1], "", 1);
    (void)!read(report_[0], &count, sizeof count);
    return count;
  }

 private:
  std::array<int, 2> stop_{}, report_{};
  pid_t pid_ = -1;
};

// ---- The parent

struct Training {
  std::vector<std::string> hashes;
  std::vector<std::int64_t> peaks;  // MiB
  std::size_t notices = 0;          // the largest number of lines of a process
  double seconds = 0.0;             // the duration of the flood
  testing::FloodCount flood;
};

class TestedJob {
 public:
  TestedJob(std::size_t scenario, std::int64_t steps) : scenario_(scenario), steps_(steps) {}

  void start(int rank) {
    processes_.emplace_back(std::vector<std::string>{"strangers", "child", std::to_string(scenario_),
                                                     std::to_string(rank), port_.address(), std::to_string(steps_)});
  }
  void wait_until(const std::function<bool()>& holds) {
    const auto deadline = Clock::now() + 10 * testing::patience();
    while (Clock::now() < deadline) {
      for (auto& process : processes_) process.look();
      if (holds()) return;
      if (std::ranges::any_of(processes_, [](const auto& process) { return process.ended() && process.status() != 0; }))
        break;
      wait_for_output(processes_, std::chrono::milliseconds(20));
    }
    std::string texts;
    for (const auto& process : processes_) texts += process.text();
    throw Error("strangers", "the job fails or does not end: " + texts);
  }
  bool has_said(const std::string& text) const {
    return std::ranges::all_of(processes_,
                               [&](const auto& process) { return process.text().find(text) != std::string::npos; });
  }
  std::vector<std::string> listeners() const {
    std::vector<std::string> addresses;
    for (const auto& process : processes_)
      std::ranges::copy(testing::listeners_of(process.pid()), std::back_inserter(addresses));
    return addresses;
  }
  bool ended() const {
    return std::ranges::all_of(processes_, [](const auto& process) { return process.ended(); });
  }

  Training training() const {
    Training result;
    for (const auto& process : processes_) {
      std::istringstream lines(process.text());
      std::size_t notices = 0;
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("parameters ")) result.hashes.push_back(line.substr(11));
        if (line.starts_with("peak ")) result.peaks.push_back(std::stoll(line.substr(5)) / 1024);
        if (line.starts_with('[')) ++notices;
      }
      result.notices = std::max(result.notices, notices);
    }
    return result;
  }

 private:
  const testing::ReservedPort port_;
  const std::size_t scenario_;
  const std::int64_t steps_;
  std::vector<ChildProcess> processes_;
};

Training train_under_flood(std::size_t number, std::int64_t steps, int connections) {
  TestedJob job(number, steps);
  const bool joining = kScenarios[number].joining;
  for (int rank = 0; rank < (joining ? kProcesses - 1 : kProcesses); ++rank) job.start(rank);
  // The processes that have started listen at the rendezvous, or at two endpoints each.
  job.wait_until([&] { return joining ? job.listeners().size() >= 5 : job.has_said(kTraining); });
  const auto since = Clock::now();
  FloodingProcess stranger(job.listeners(), connections);
  if (joining) job.start(kProcesses - 1);
  job.wait_until([&] { return job.has_said("peak "); });
  const auto count = stranger.report();
  job.wait_until([&] { return job.ended(); });
  auto training = job.training();
  training.seconds = std::chrono::duration<double>(Clock::now() - since).count();
  training.flood = count;
  return training;
}

Training train_alone(std::size_t number, std::int64_t steps) {
  TestedJob job(number, steps);
  for (int rank = 0; rank < kProcesses; ++rank) job.start(rank);
  job.wait_until([&] { return job.ended(); });
  return job.training();
}

/// Prints the row of a scenario. Returns whether the promises were kept.
bool run_scenario(std::size_t number, std::int64_t steps, int connections) {
  const auto alone = train_alone(number, steps);
  const auto flooded = train_under_flood(number, steps, connections);
  std::string peaks;
  std::int64_t growth = 0;
  for (std::size_t rank = 0; rank < alone.peaks.size(); ++rank) {
    growth = std::max(growth, flooded.peaks.at(rank) - alone.peaks[rank]);
    peaks += (rank == 0 ? "" : ", ") + std::to_string(alone.peaks[rank]) + " -> " + std::to_string(flooded.peaks[rank]);
  }
  const bool equal = alone.hashes.size() == kProcesses && alone.hashes == flooded.hashes;
  std::cout << "| " << kScenarios[number].name << " | " << flooded.flood.connections << " | "
            << (flooded.flood.bytes >> 20) << " | " << std::fixed << std::setprecision(1) << flooded.seconds << " | "
            << peaks << " | " << growth << " | " << flooded.notices << " | " << (equal ? "equal" : "DIFFERENT") << " |"
            << std::endl;
  // One line may follow the last second, with the number of lines that were left out.
  return equal && growth <= kMemoryLimit && static_cast<double>(flooded.notices) <= flooded.seconds + 2.0;
}

bool may_change_user() {
  const auto child = fork();
  if (child == 0) _exit(setresuid(kNobody, kNobody, kNobody) == 0 ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "child") return run_child(argv);
  const std::int64_t steps = argc > 1 ? std::atoll(argv[1]) : 500;
  const int connections = argc > 2 ? std::atoi(argv[2]) : 100;
  if (!may_change_user()) {
    std::cout << "SKIPPED: this user may start no process of another user" << std::endl;
    return 77;
  }
  setenv("TROUPE_SECRET", random_secret_text().c_str(), 1);
  std::cout << "| scenario | connections | MiB sent | s | peak MiB of each process, alone -> flooded | growth MiB | "
               "lines of a process | parameters |\n|---|---|---|---|---|---|---|---|\n";
  bool kept = true;
  for (std::size_t number = 0; number < kScenarios.size(); ++number)
    if (argc < 4 || std::string(argv[3]) == kScenarios[number].name) kept &= run_scenario(number, steps, connections);
  return kept ? 0 : 1;
}
