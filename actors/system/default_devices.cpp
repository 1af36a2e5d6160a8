#include "troupe/actors/system/default_devices.hpp"

#include <cstdio>

#include "troupe/ops/core/backend.hpp"

namespace troupe {

namespace {

void say_once_that_there_is_no_gpu(int cores) {
  static const bool kSaid = [cores] {
    std::fprintf(stderr, "[runtime] no GPU is found: %d CPU device%s in use\n", cores, cores == 1 ? " is" : "s are");
    return true;
  }();
  (void)kSaid;
}

}  // namespace

std::vector<Device> gpus() {
  std::vector<Device> devices;
  for (int i = 0; i < device_count(DeviceType::cuda); ++i) devices.push_back({DeviceType::cuda, i});
  return devices;
}

std::vector<Device> default_devices(int cores) {
  auto devices = gpus();
  if (!devices.empty()) return devices;
  if (has_backend(DeviceType::cuda)) say_once_that_there_is_no_gpu(cores);
  for (int i = 0; i < cores; ++i) devices.push_back({DeviceType::cpu, i});
  return devices;
}

}  // namespace troupe
