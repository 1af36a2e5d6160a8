#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "troupe/actors/ports/ports.hpp"

namespace troupe {

/// The ports of one segment among the ports of its executor, numbered from 0.
class SegmentPorts {
 public:
  SegmentPorts(Ports& ports, std::uint32_t first_input, std::uint32_t inputs, std::uint32_t first_output,
               std::uint32_t outputs)
      : ports_(ports), first_input_(first_input), inputs_(inputs), first_output_(first_output), outputs_(outputs) {}

  std::uint32_t inputs() const { return inputs_; }
  std::uint32_t outputs() const { return outputs_; }
  /// The number of an output of the executor in this segment.
  std::uint32_t local_output(std::uint32_t output) const { return output - first_output_; }

  bool has(std::uint32_t input) const { return ports_.has(first_input_ + input); }
  Arrival take(std::uint32_t input) { return ports_.take(first_input_ + input); }
  void give_back(std::uint32_t input, Arrival& arrival, const Event& last_use) {
    ports_.give_back(first_input_ + input, arrival, last_use);
  }

  bool has_free(std::uint32_t output) const { return ports_.has_free(first_output_ + output); }
  std::uint32_t take_slot(std::uint32_t output) { return ports_.take_slot(first_output_ + output); }
  std::vector<Event> take_last_uses(std::uint32_t output, std::uint32_t slot) {
    return ports_.take_last_uses(first_output_ + output, slot);
  }
  void send(std::uint32_t output, std::uint32_t slot, std::int64_t step, const SentTensor& sent,
            const FailurePtr& failure) {
    ports_.send(first_output_ + output, slot, step, sent, failure);
  }
  void send_tokens(std::uint32_t output, std::int64_t first_step,
                   const std::function<SentTensor(std::uint32_t slot)>& tensor_of) {
    ports_.send_tokens(first_output_ + output, first_step, tensor_of);
  }
  const OutputWire& output_wire(std::uint32_t output) const { return ports_.output_wire(first_output_ + output); }

  /// Inputs without a tensor and outputs without a free slot.
  std::uint32_t blockers() const;
  /// True if an input gets no more tensors in this run.
  bool drained() const;
  /// Ends the run of the segment: tells its consumers, and returns all tensors at its inputs.
  void end();
  /// True if every slot is free.
  bool at_rest() const;
  /// The first tensor or credit that is awaited; empty if none is.
  std::string awaited() const;
  /// The first credit that is awaited; empty if none is.
  std::string awaited_credit() const;

 private:
  Ports& ports_;
  std::uint32_t first_input_, inputs_, first_output_, outputs_;
};

}  // namespace troupe
