// Time of an all-reduce over processes, for tensors of several sizes: every process is started by a launcher, or by
// flags. Rank 0 prints one line of JSON: the median seconds by bytes.

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <semaphore>

#include "troupe/bench/repetitions.hpp"
#include "troupe/transport/cluster/cluster.hpp"

using namespace troupe;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLimit{60};

/// Waits for a work without using the processor meanwhile.
class Waiter {
 public:
  Communicator::OnProgress listener() {
    return [told = told_] { told->release(); };
  }
  void wait(Work& work) {
    const auto deadline = Clock::now() + kLimit;
    while (!work.advance()) {
      if (Clock::now() > deadline) throw Error("collectives", work.waits_for());
      (void)told_->try_acquire_for(std::chrono::milliseconds(100));
    }
  }

 private:
  std::shared_ptr<std::counting_semaphore<>> told_ = std::make_shared<std::counting_semaphore<>>(0);
};

/// Median seconds of one all-reduce; each repetition makes several.
double all_reduce_seconds(Communicator& group, std::int64_t bytes, int repetitions) {
  const Tensor tensor(Shape{bytes / 4}, DType::float32);
  const int calls = bytes < 100'000 ? 200 : (bytes <= 8'000'000 ? 8 : 2);
  Waiter waiter;
  const auto reduce = [&] { waiter.wait(*group.all_reduce(tensor, waiter.listener())); };
  for (int i = 0; i < calls; ++i) reduce();
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    waiter.wait(*group.barrier(waiter.listener()));
    const auto begin = Clock::now();
    for (int call = 0; call < calls; ++call) reduce();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / calls);
  }
  return bench::median(seconds);
}

}  // namespace

int main(int argc, char** argv) {
  JobFlags flags;
  std::vector<std::int64_t> sizes{1'024, 4 << 20, 64 << 20};
  int repetitions = 7;
  bool network = false;
  CLI::App app{"Time of an all-reduce over processes"};
  app.add_option("--rank", flags.rank, "rank of this process");
  app.add_option("--world-size", flags.world_size, "number of processes");
  app.add_option("--rendezvous", flags.rendezvous, "host:port of rank 0");
  app.add_option("--bytes", sizes, "sizes of the tensors");
  app.add_option("--repetitions", repetitions, "of every measurement")->check(CLI::PositiveNumber);
  app.add_flag("--network", network, "use the network as between machines");
  CLI11_PARSE(app, argc, argv);
  try {
    ClusterOptions options;
    options.job = resolve_job(flags);
    options.same_host = !network;
    const auto cluster = join_cluster(options);
    std::vector<int> processes(static_cast<std::size_t>(cluster->size()));
    std::iota(processes.begin(), processes.end(), 0);
    const auto group = cluster->communicator("bench", processes)[static_cast<std::size_t>(cluster->rank())];
    nlohmann::json result;
    for (const auto bytes : sizes) result[std::to_string(bytes)] = all_reduce_seconds(*group, bytes, repetitions);
    if (cluster->rank() == 0) std::cout << result.dump() << std::endl;
    cluster->leave();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "collectives: " << error.what() << std::endl;
    return 1;
  }
}
