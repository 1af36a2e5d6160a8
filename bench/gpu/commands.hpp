#pragma once

#include <CLI/CLI.hpp>

namespace troupe::bench {

// Each function adds one command to gpu_bench, which runs if the command line names it. A failed measurement throws
// Error.

/// `step`: measures whole training steps of several strategies, alternately.
void add_step_command(CLI::App& app);
/// `busy`: measures, from a trace, the fraction of a step in which a device works.
void add_busy_command(CLI::App& app);
/// `op-time`: measures the cost of an op on the host if every op is its own actor.
void add_op_time_command(CLI::App& app);
/// `memory-growth`: checks that the memory of a device does not grow from step to step.
void add_memory_growth_command(CLI::App& app);
/// `out-of-memory`: trains a model that is too large for a device, then one that is not.
void add_out_of_memory_command(CLI::App& app);

}  // namespace troupe::bench
