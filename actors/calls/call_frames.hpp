#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/calls/remote_call.hpp"
#include "troupe/transport/frame.hpp"

namespace troupe {

/// The name of the link between them.
inline constexpr const char* kCallLink = "calls";
/// Of a call, or of what comes of it.
inline constexpr std::uint32_t kMostTensors = 65'536;
/// The same as it travels, which is what a link takes.
inline constexpr std::size_t kMostBytes = std::size_t{1} << 32;

/// What a coordinator and a worker in another process send each other, in FrameHeader::edge; the number of the call, or
/// of the question, is FrameHeader::step.
enum class CallFrame : std::int32_t { call, result, read, value };

struct OrderedCall {
  std::string function;
  std::vector<Tensor> inputs;
};

/// A variable, or why there is none.
struct VariableValue {
  Tensor value;
  std::string error;
};

/// A frame of that kind about call or question `number`.
Frame call_frame(CallFrame kind, std::int64_t number, const std::vector<std::byte>& payload);

/// Throw Error if there are too many tensors or bytes, or a name is too long.
std::vector<std::byte> encode(const OrderedCall& call);
std::vector<std::byte> encode(const CallResult& result);
std::vector<std::byte> encode(const VariableValue& value);
/// Throw Error if the bytes are none.
OrderedCall decode_call(std::span<const std::byte> bytes);
CallResult decode_result(std::span<const std::byte> bytes);
VariableValue decode_value(std::span<const std::byte> bytes);

}  // namespace troupe
