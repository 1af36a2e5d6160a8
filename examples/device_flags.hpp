#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "troupe/actors/run/runtime.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe::examples {

/// Where the replicas of an example live.
struct DeviceFlags {
  int replicas = 2;     ///< on as many cores
  std::string devices;  ///< in their place, such as cuda:0,cuda:1

  void declare(CLI::App& app) {
    const auto readable = [](const std::string& text) -> std::string {
      try {
        parse_devices(text);
        return "";
      } catch (const Error& error) {
        return error.what();
      }
    };
    auto* counted = app.add_option("--replicas", replicas, "on as many cores");
    counted->check(CLI::Range(1, 64))->capture_default_str();
    app.add_option("--devices", devices, "where the replicas live instead, such as cuda:0,cuda:1 or cuda:0*2")
        ->check(readable)
        ->excludes(counted);
  }

  Runtime make_runtime() const { return Runtime({.cpu_devices = devices.empty() ? replicas : 0}); }
  std::vector<Device> places(const Runtime& runtime) const {
    return devices.empty() ? runtime.devices() : parse_devices(devices);
  }
};

}  // namespace troupe::examples
