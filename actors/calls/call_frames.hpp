#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/calls/remote_call.hpp"
#include "troupe/transport/frame.hpp"

namespace troupe {

/// The name of the link between a coordinator and a worker.
inline constexpr const char* kCallLink = "calls";
/// Limit of the number of inputs, of outputs, and of updates of a call.
inline constexpr std::uint32_t kMostTensors = 65'536;
/// Limit of the bytes of an encoded call or result: the largest payload of a link.
inline constexpr std::size_t kMostBytes = std::size_t{1} << 32;

/// Kinds of frames between a coordinator and a worker in another process. A frame has its kind in FrameHeader::edge,
/// and the number of the call or of the read of a variable in FrameHeader::step.
enum class CallFrame : std::int32_t { call, result, read, value };

/// The answer to the read of a variable: the value, or the text of an error.
struct VariableValue {
  Tensor value;
  std::string error;
};

/// A frame of this kind for call or read `number`.
Frame call_frame(CallFrame kind, std::int64_t number, const std::vector<std::byte>& payload);

// encode() throws Error if there are too many tensors or bytes, or if a name is too long.

std::vector<std::byte> encode(const OrderedCall& call);
std::vector<std::byte> encode(const CallResult& result);
std::vector<std::byte> encode(const VariableValue& value);

// The decode functions throw Error if the bytes are damaged.

OrderedCall decode_call(std::span<const std::byte> bytes);
CallResult decode_result(std::span<const std::byte> bytes);
VariableValue decode_value(std::span<const std::byte> bytes);

}  // namespace troupe
