#pragma once

#include <CLI/CLI.hpp>

namespace troupe::bench {

// Each adds one command to gpu_bench, which runs when the command line asks for it. What it finds wrong it throws as
// Error.

/// `step`: how long whole training steps take, of several strategies in turn.
void add_step_command(CLI::App& app);
/// `busy`: which share of a step a device works, from a trace.
void add_busy_command(CLI::App& app);
/// `op-time`: what an op costs the host where every op is an actor of its own.
void add_op_time_command(CLI::App& app);
/// `memory-growth`: whether the memory of a device grows from step to step.
void add_memory_growth_command(CLI::App& app);
/// `out-of-memory`: a model that is too large for a device, and then one that is not.
void add_out_of_memory_command(CLI::App& app);

}  // namespace troupe::bench
