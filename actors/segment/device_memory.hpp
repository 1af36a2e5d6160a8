#pragma once

#include <map>
#include <memory>
#include <vector>

#include "troupe/actors/load/uploads.hpp"
#include "troupe/actors/segment/segment_memory.hpp"
#include "troupe/actors/segment/segment_streams.hpp"

namespace troupe {

/// The memory of a segment on a device with memory of its own. A firing only launches work. Tensors, parameters and
/// constants from elsewhere are copied to the device. An output that is also read on the host has a slot there for
/// every slot on the device, to which it is copied. Messages carry events, except between segments that share a stream.
class DeviceMemory final : public SegmentMemory {
 public:
  /// `reads_any_device`: tensors that arrive stay where they are.
  DeviceMemory(const SegmentMemorySetup& setup, const SegmentStreams& streams, bool reads_any_device);
  /// Launched work may still run.
  ~DeviceMemory() override;

  const Tensor& parameter(const ParameterRef& ref) override;
  Tensor constant(const Tensor& value) override;
  void wait_for_input(const Event& event, const Tensor& arrived) override;
  const Tensor& receive(std::uint32_t port, const Tensor& arrived) override;
  void finish_firing() override;

  // ---- Captured work

  /// The host's slots of an output; empty if no consumer reads it there.
  const std::vector<Tensor>& host_slots(std::uint32_t output) const { return host_slots_[output]; }
  /// Launches the copy of a tensor into the host's slot.
  void copy_to_host(std::uint32_t output, std::uint32_t slot, const Tensor& tensor);
  /// Captured work of this firing, which ends with the event, has computed the output and copied it to the host.
  void note_captured(std::uint32_t output, const Event& end);

 private:
  Tensor make_slot(const SegmentMemorySetup& setup, const PlanEdge& edge) const override;
  SentTensor message_for(std::uint32_t output, std::uint32_t slot, const Tensor& tensor) override;
  void refresh_parameters() override;
  void publish_slots(std::uint32_t output) override;
  void add_output(const SegmentMemorySetup& setup, const PlanEdge& edge, const SegmentStreams& streams);
  /// True if a tensor that has arrived must be copied to the device.
  bool is_elsewhere(const Tensor& arrived) const;

  bool reads_any_device_;
  Uploads uploads_;
  Tensor uploaded_;                                  // the copy of the tensor that was received last
  std::map<ParameterRef, Tensor> parameter_copies_;  // parameters elsewhere, with the values at the run's begin
  std::map<const std::byte*, Tensor> constants_;     // copies of constants elsewhere, by their address there
  std::vector<std::vector<Tensor>> host_slots_;      // by output and slot, for consumers on the host
  std::vector<bool> awaited_;                        // by output: a consumer is on another stream of a device
  std::vector<bool> returned_late_;                  // by port: with an event, to a producer on another stream
  bool records_firing_ = false;                      // a slot of one port is returned late
  std::vector<bool> captured_;                       // by output: captured work of this firing has computed it
  Event captured_end_;                               // the end of that work
};

}  // namespace troupe
