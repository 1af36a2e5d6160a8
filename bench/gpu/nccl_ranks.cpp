// Runs one rank of a group over NCCL: runs every collective, for all dtypes and odd sizes, and compares with sums
// computed by hand. With --forever it repeats them until the group fails, and prints the failure. Several ranks may
// share a GPU if each has its own NCCL_HOSTID.

#include <CLI/CLI.hpp>
#include <iostream>

#include "troupe/bench/gpu/collective_checks.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/transport/nccl/nccl_group.hpp"

using namespace troupe;

namespace {

struct Flags {
  int rank = 0, size = 1, limit_seconds = 60;
  std::string device = "cuda:0", address = "127.0.0.1:29417";
  bool forever = false;
};

Flags parse(CLI::App& app, int argc, char** argv) {
  Flags flags;
  app.add_option("--rank", flags.rank, "rank of this process");
  app.add_option("--world-size", flags.size, "number of processes");
  app.add_option("--rendezvous", flags.address, "host:port at which rank 0 gives its id");
  app.add_option("--device", flags.device)->capture_default_str();
  app.add_option("--limit", flags.limit_seconds, "seconds for a collective")->check(CLI::Range(1, 600));
  app.add_flag("--forever", flags.forever, "do collectives until the group ends");
  app.parse(argc, argv);
  return flags;
}

void run(const Flags& flags) {
  const std::chrono::seconds limit(flags.limit_seconds);
  const auto devices = parse_devices(flags.device);
  NcclGroupOptions options{.size = flags.size, .limit = limit};
  options.local.push_back({flags.rank, devices.front()});
  options.id = share_nccl_id_by_tcp(flags.address, flags.rank, flags.size, limit);
  const auto group = make_nccl_group(options);
  do {
    const auto done = bench::check_collectives(*group, 2 * limit);
    std::cout << done << " collectives among " << flags.size << " ranks are right" << std::endl;
  } while (flags.forever);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A rank of a group over NCCL", "nccl_ranks");
  try {
    run(parse(app, argc, argv));
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::cerr << "nccl_ranks: " << error.what() << std::endl;
    return 1;
  }
}
