#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/actors/segment/segment_memory.hpp"

namespace troupe {

/// The arguments of all tasks of a segment for one number of rows, as views of the segment's memory. A firing sets the
/// arguments that lie at ports, and those in slots if the slot is another than before. Used on one thread at a time.
class SegmentBinding {
 public:
  /// Layout and memory outlive this.
  SegmentBinding(std::int64_t rows, const Plan& plan, const SegmentLayout& layout, SegmentMemory& memory);

  std::int64_t rows() const { return rows_; }
  /// The inputs and outputs of all tasks, task by task.
  std::span<const Tensor> arguments() const { return arguments_; }

  /// Binds a tensor of this memory that has arrived at a port.
  void set_input(std::int32_t port, const Tensor& tensor);
  /// Binds the slot of an output that this firing fills.
  void set_output(std::int32_t output, std::uint32_t slot);
  /// The slot of an output that is bound.
  std::uint32_t slot_of(std::int32_t output) const { return static_cast<std::uint32_t>(bound_slots_[output]); }
  /// The tensor to send for a slot of an output. An output in place of a port becomes a view of `port_tensor`.
  const Tensor& output_tensor(std::int32_t output, std::uint32_t slot, const Tensor& port_tensor);
  const Tensor& output_tensor(std::int32_t output, std::uint32_t slot) const { return sent_[output][slot]; }
  /// Drops the tensors that have arrived.
  void release_inputs();
  /// Handles to the tensor of a slot besides the segment's own.
  long handles_outside(std::int32_t output, std::uint32_t slot) const;
  /// Appends the addresses of the inputs and the slots of the outputs, which tell apart on which memory a firing works.
  void append_to(std::vector<std::uintptr_t>& key) const;

 private:
  struct SlotArgument {
    std::size_t argument;
    std::vector<Tensor> by_slot;
  };
  struct PortArgument {
    std::size_t argument;
    const ArgumentPlace* place;
    bool whole;  // not a view of the tensor
  };
  static constexpr std::int64_t kUnbound = -1;

  void bind(std::size_t argument, const ArgumentPlace& place, const Plan& plan, SegmentMemory& memory);

  std::int64_t rows_;
  const SegmentLayout& layout_;
  std::vector<Tensor> arguments_;
  std::vector<std::vector<PortArgument>> of_port_;
  std::vector<std::vector<SlotArgument>> of_output_;
  std::vector<std::vector<Tensor>> sent_;  // by output and slot
  std::vector<TensorInfo> output_infos_;
  std::vector<std::int64_t> bound_slots_;  // by output
};

}  // namespace troupe
