#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "troupe/actors/system/default_devices.hpp"
#include "troupe/actors/system/runtime.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/exact_convolutions.hpp"
#include "troupe/ops/core/matmul_precision.hpp"

namespace troupe::examples {

/// A check of a flag: the error text of the function for a text, or an empty text.
template <class Read>
auto readable_by(Read read) {
  return [read](const std::string& text) -> std::string {
    try {
      read(text);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
}

/// Declares the flags that set the precision of products and convolutions.
inline void declare_precision(CLI::App& app) {
  app.add_flag_callback(
      "--exact-convolutions", [] { set_exact_convolutions(true); },
      "compute all convolutions on CPUs directly, with smaller rounding errors");
  app.add_option_function<std::string>(
         "--precision", [](const std::string& text) { set_matmul_precision(parse_precision(text)); },
         "of products and convolutions: float32 (default), tf32 (on GPUs), bfloat16 or float16")
      ->check(readable_by(parse_precision));
}

/// The flags for the devices of an example's replicas.
struct DeviceFlags {
  int replicas = 0;     ///< distributed over the GPUs, or on as many cores; 0: one on each GPU, or kCores on cores
  std::string devices;  ///< instead of `replicas`, such as cuda:0,cuda:1

  void declare(CLI::App& app, const std::string& name_of_replicas = "--replicas") {
    auto* counted = app.add_option(name_of_replicas, replicas,
                                   "shared out over all GPUs, or else on as many cores (default: one on each GPU, or " +
                                       std::to_string(kCores) + " on cores)");
    counted->check(CLI::Range(1, 64));
    app.add_option("--devices", devices, "where the replicas live instead, such as cuda:0,cuda:1 or cuda:0*2")
        ->check(readable_by(parse_devices))
        ->excludes(counted);
    declare_precision(app);
  }

  Runtime make_runtime() const {
    const auto cores = replicas > 0 ? replicas : kCores;
    return Runtime({.cpu_devices = devices.empty() ? cores : 0});
  }

  std::vector<Device> places() const {
    if (!devices.empty()) return parse_devices(devices);
    if (replicas == 0) return default_devices(kCores);
    const auto all_gpus = gpus();
    std::vector<Device> shared_out;
    for (int replica = 0; replica < replicas; ++replica)
      shared_out.push_back(all_gpus.empty() ? Device{DeviceType::cpu, replica}
                                            : all_gpus[static_cast<std::size_t>(replica) % all_gpus.size()]);
    return shared_out;
  }

 private:
  static constexpr int kCores = 2;
};

}  // namespace troupe::examples
