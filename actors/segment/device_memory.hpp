#pragma once

#include <map>
#include <memory>
#include <vector>

#include "troupe/actors/load/uploads.hpp"
#include "troupe/actors/segment/segment_memory.hpp"
#include "troupe/actors/segment/segment_streams.hpp"

namespace troupe {

/// The memory of a segment on a device with memory of its own. The methods for a firing only launch work. Tensors,
/// parameters and constants in host memory or on another device are copied to the device. An output that is also read
/// on the host has a pinned host slot for every slot on the device; each firing copies the output to the host slot.
/// Messages carry events for which the reader's stream waits, except between segments that share a stream.
class DeviceMemory final : public SegmentMemory {
 public:
  /// `reads_any_device`: a task of the segment reads inputs on any device, so arriving tensors are not copied.
  DeviceMemory(const SegmentMemorySetup& setup, const SegmentStreams& streams, bool reads_any_device);
  /// May be called while launched work still runs. Host slots stay allocated until the copies to them are complete.
  ~DeviceMemory() override;

  const Tensor& parameter(const ParameterRef& ref) override;
  Tensor constant(const Tensor& value) override;
  void wait_for_input(const Event& event, const Tensor& arrived) override;
  const Tensor& receive(std::uint32_t port, const Tensor& arrived) override;
  void finish_firing() override;

  // ---- Captured work

  /// The host slots of an output; empty if no consumer reads it on the host.
  const std::vector<Tensor>& host_slots(std::uint32_t output) const { return host_slots_[output]; }
  /// Launches the copy of a tensor of an output into the output's host slot of this number.
  void copy_to_host(std::uint32_t output, std::uint32_t slot, const Tensor& tensor);
  /// Notes that launched captured work computes the output in this firing, and copies it to its host slot if there is
  /// one. `end` is the event after this work.
  void note_captured(std::uint32_t output, const Event& end);

 private:
  Tensor make_slot(const SegmentMemorySetup& setup, const PlanEdge& edge) const override;
  SentTensor message_for(std::uint32_t output, std::uint32_t slot, const Tensor& tensor) override;
  void refresh_parameters() override;
  void publish_slots(std::uint32_t output) override;
  void add_output(const SegmentMemorySetup& setup, const PlanEdge& edge, const SegmentStreams& streams);
  /// True if an arriving tensor must be copied to the device.
  bool is_elsewhere(const Tensor& arrived) const;

  bool reads_any_device_;
  Uploads uploads_;
  Tensor uploaded_;                                  // the result of the last receive() that copied
  std::map<ParameterRef, Tensor> parameter_copies_;  // copies of parameters in other memory, renewed for each run
  std::map<const std::byte*, Tensor> constants_;     // copies of constants in other memory, by the original's address
  std::vector<std::vector<Tensor>> host_slots_;      // by output and slot, for consumers on the host
  std::vector<bool> awaited_;                        // by output: its messages need an event, for another stream
  std::vector<bool> returned_late_;  // by port: the producer uses another stream, so slots return with an event
  bool records_firing_ = false;      // true if returned_late_ has a true entry
  std::vector<bool> captured_;       // by output: captured work of this firing has computed it
  Event captured_end_;               // the event after the captured work
};

}  // namespace troupe
