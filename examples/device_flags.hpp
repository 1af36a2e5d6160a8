#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "troupe/actors/run/runtime.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/matmul_precision.hpp"

namespace troupe::examples {

/// A check of a flag: what the function says against a text.
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

/// The flag of how GPUs multiply, which sets it.
inline void declare_precision(CLI::App& app) {
  app.add_option_function<std::string>(
         "--precision", [](const std::string& text) { set_matmul_precision(parse_precision(text)); },
         "of products and convolutions on GPUs: float32 (default), tf32, bfloat16 or float16")
      ->check(readable_by(parse_precision));
}

/// Where the replicas of an example live, and how they compute.
struct DeviceFlags {
  int replicas = 2;     ///< on as many cores
  std::string devices;  ///< in their place, such as cuda:0,cuda:1

  void declare(CLI::App& app) {
    auto* counted = app.add_option("--replicas", replicas, "on as many cores");
    counted->check(CLI::Range(1, 64))->capture_default_str();
    app.add_option("--devices", devices, "where the replicas live instead, such as cuda:0,cuda:1 or cuda:0*2")
        ->check(readable_by(parse_devices))
        ->excludes(counted);
    declare_precision(app);
  }

  Runtime make_runtime() const { return Runtime({.cpu_devices = devices.empty() ? replicas : 0}); }
  std::vector<Device> places(const Runtime& runtime) const {
    return devices.empty() ? runtime.devices() : parse_devices(devices);
  }
};

}  // namespace troupe::examples
