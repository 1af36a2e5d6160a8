// Measurements on GPUs, for bench/gpu/run_all.

#include <cstdio>
#include <iostream>

#include "troupe/bench/gpu/commands.hpp"
#include "troupe/ops/core/backend.hpp"

int main(int argc, char** argv) {
  CLI::App app("Measurements on GPUs", "gpu_bench");
  app.require_subcommand(1);
  app.add_subcommand("devices", "Prints how many GPUs there are")->callback([] {
    std::printf("%d\n", troupe::device_count(troupe::DeviceType::cuda));
  });
  troupe::bench::add_step_command(app);
  troupe::bench::add_busy_command(app);
  troupe::bench::add_op_time_command(app);
  troupe::bench::add_memory_growth_command(app);
  troupe::bench::add_out_of_memory_command(app);
  try {
    CLI11_PARSE(app, argc, argv);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "gpu_bench: " << error.what() << std::endl;
    return 1;
  }
}
