#include <cstring>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/library/reshape.hpp"

namespace troupe::cpu {

// Copies nothing if the memory plan has placed the parts in the block when they were computed.
std::unique_ptr<Kernel> make_pack(const OpCall& call) {
  return function_kernel([offsets = pack_offsets(call.inputs)](Inputs in, Outputs out) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      auto* place = mutable_floats(out[0]) + offsets[i];
      if (place != floats(in[i]) && in[i].bytes() > 0) std::memcpy(place, in[i].address(), in[i].bytes());
    }
  });
}

}  // namespace troupe::cpu
