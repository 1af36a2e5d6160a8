#include "troupe/actors/plan/place.hpp"

namespace troupe {

Place host_side(const Place& place) {
  return is_host(place.device) ? place : Place{place.process, {DeviceType::cpu, place.device.index}};
}

std::string to_string(const Place& place) {
  return (place.process == 0 ? "" : std::to_string(place.process) + "/") + to_string(place.device);
}

}  // namespace troupe
