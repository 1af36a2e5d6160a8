#include "troupe/actors/segment/segment_ports.hpp"

namespace troupe {

std::uint32_t SegmentPorts::blockers() const {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < inputs_; ++i)
    if (!has(i)) ++count;
  for (std::uint32_t i = 0; i < outputs_; ++i)
    if (!has_free(i)) ++count;
  return count;
}

bool SegmentPorts::drained() const {
  for (std::uint32_t i = 0; i < inputs_; ++i)
    if (ports_.drained(first_input_ + i)) return true;
  return false;
}

void SegmentPorts::end() {
  for (std::uint32_t i = 0; i < outputs_; ++i) ports_.end(first_output_ + i);
  for (std::uint32_t i = 0; i < inputs_; ++i) ports_.drain(first_input_ + i);
}

bool SegmentPorts::at_rest() const {
  for (std::uint32_t i = 0; i < outputs_; ++i)
    if (!ports_.at_rest(first_output_ + i)) return false;
  return true;
}

std::string SegmentPorts::awaited() const {
  for (std::uint32_t i = 0; i < inputs_; ++i)
    if (!has(i)) return ports_.awaited_tensor(first_input_ + i);
  for (std::uint32_t i = 0; i < outputs_; ++i)
    if (!has_free(i)) return ports_.awaited_credit(first_output_ + i);
  return {};
}

std::string SegmentPorts::awaited_credit() const {
  for (std::uint32_t i = 0; i < outputs_; ++i)
    if (!ports_.at_rest(first_output_ + i)) return ports_.awaited_credit(first_output_ + i);
  return {};
}

}  // namespace troupe
