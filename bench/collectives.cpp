// Measures the time of an all-reduce over processes, for tensors of several sizes. Every process is started by a
// launcher or with flags. Rank 0 prints one line of JSON: the median seconds by bytes.

#include <CLI/CLI.hpp>
#include <chrono>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <semaphore>

#include "troupe/bench/repetitions.hpp"
#include "troupe/transport/membership/cluster.hpp"

using namespace troupe;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLimit{60};

/// Waits for a work without using the processor.
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

/// The processor seconds of all threads of this process.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// The medians of a collective's wall time and processor time, over the repetitions.
struct Medians {
  double seconds, processor_seconds;
};

/// The medians for one all-reduce. Each repetition makes several.
Medians measure_all_reduce(Communicator& group, std::int64_t bytes, int repetitions) {
  const Tensor tensor(Shape{bytes / 4}, DType::float32);
  const int calls = bytes < 100'000 ? 200 : (bytes <= 8'000'000 ? 8 : 2);
  Waiter waiter;
  const auto reduce = [&] { waiter.wait(*group.all_reduce(tensor, waiter.listener())); };
  for (int i = 0; i < calls; ++i) reduce();
  std::vector<double> seconds, computed;
  for (int i = 0; i < repetitions; ++i) {
    waiter.wait(*group.barrier(waiter.listener()));
    const auto begin = Clock::now();
    const auto begin_computed = processor_seconds();
    for (int call = 0; call < calls; ++call) reduce();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / calls);
    computed.push_back((processor_seconds() - begin_computed) / calls);
  }
  return {bench::median(seconds), bench::median(computed)};
}

}  // namespace

int main(int argc, char** argv) {
  JobFlags flags;
  std::vector<std::int64_t> sizes{1'024, 4 << 20, 64 << 20};
  int repetitions = 7;
  bool network = false, processor_time = false;
  std::string algorithm = "direct";
  CLI::App app{"Time of an all-reduce over processes"};
  app.add_option("--rank", flags.rank, "rank of this process");
  app.add_option("--world-size", flags.world_size, "number of processes");
  app.add_option("--rendezvous", flags.rendezvous, "host:port of rank 0");
  app.add_option("--bytes", sizes, "sizes of the tensors");
  app.add_option("--repetitions", repetitions, "of every measurement")->check(CLI::PositiveNumber);
  app.add_flag("--network", network, "use the network as between machines");
  app.add_option("--all-reduce", algorithm, "direct, ring, hierarchy or mpi");
  app.add_flag("--processor-time", processor_time,
               "print the processor seconds of this process, too: [seconds, processor seconds]");
  CLI11_PARSE(app, argc, argv);
  try {
    const auto all_reduce = all_reduce_algorithm_of(algorithm);
    ClusterOptions options;
    options.job = resolve_job(flags);
    options.same_host = !network;
    const auto cluster = join_cluster(options);
    std::vector<int> processes(static_cast<std::size_t>(cluster->size()));
    std::iota(processes.begin(), processes.end(), 0);
    const auto group = cluster->communicator("bench", processes, all_reduce)[static_cast<std::size_t>(cluster->rank())];
    nlohmann::json result;
    for (const auto bytes : sizes) {
      const auto [seconds, computed] = measure_all_reduce(*group, bytes, repetitions);
      auto& printed = result[std::to_string(bytes)];
      if (processor_time)
        printed = {seconds, computed};
      else
        printed = seconds;
    }
    if (cluster->rank() == 0) std::cout << result.dump() << std::endl;
    cluster->leave();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "collectives: " << error.what() << std::endl;
    return 1;
  }
}
