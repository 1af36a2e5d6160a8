#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/calls/remote_call.hpp"
#include "troupe/transport/frame.hpp"

namespace troupe {

/// The name of the data link between rank 0, which has the Coordinator, and a process that serves calls.
inline constexpr const char* kCallLink = "calls";
/// The largest number of inputs, of outputs, and of variable updates of one call.
inline constexpr std::uint32_t kMostTensors = 65'536;
/// The largest number of bytes of an encoded call, result or variable value: the largest payload of a link.
inline constexpr std::size_t kMostBytes = std::size_t{1} << 32;

/// Kinds of frames between a coordinator and a worker in another process. FrameHeader::edge holds the kind.
/// FrameHeader::step holds the number of the call in a `call` or `result`, and the number of the read in a `read` of a
/// variable or in the `value` that answers it.
enum class CallFrame : std::int32_t { call, result, read, value };

/// The answer to the read of a variable: its value, or the text of an error and a null tensor.
struct VariableValue {
  Tensor value;
  std::string error;
};

/// Returns a frame of this kind. `number` is the number of the call or of the read.
Frame call_frame(CallFrame kind, std::int64_t number, const std::vector<std::byte>& payload);

// encode() throws Error if there are more than kMostTensors tensors or kMostBytes bytes, or if a name has more than
// 4,096 bytes.

std::vector<std::byte> encode(const OrderedCall& call);
std::vector<std::byte> encode(const CallResult& result);
std::vector<std::byte> encode(const VariableValue& value);

// The decode functions throw Error if the bytes are damaged.

OrderedCall decode_call(std::span<const std::byte> bytes);
CallResult decode_result(std::span<const std::byte> bytes);
VariableValue decode_value(std::span<const std::byte> bytes);

}  // namespace troupe
