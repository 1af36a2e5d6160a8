#include "troupe/actors/calls/call_frames.hpp"

#include <cstring>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/bytes.hpp"

namespace troupe {

namespace {

constexpr std::size_t kNameLimit = 4'096, kErrorLimit = 65'536;
constexpr const char* kPlace = "call";

/// Throws Error if the bytes in `writer`, the bytes of the tensors, and 1 MiB for the rest of the message are together
/// more than kMostBytes.
void expect_room(const ByteWriter& writer, std::span<const Tensor> tensors) {
  constexpr std::size_t kReserve = std::size_t{1} << 20;
  auto bytes = writer.size() + kReserve;
  for (const auto& tensor : tensors) bytes += tensor.bytes();
  if (bytes > kMostBytes)
    throw Error(kPlace, "its tensors are more than the " + std::to_string(kMostBytes >> 20) + " MiB that can be sent");
}

void put(ByteWriter& writer, const Tensor& tensor) {
  expect_room(writer, {&tensor, 1});
  const auto host = tensor.host_accessible() ? tensor : tensor.copy_to_host();
  writer.put(static_cast<std::uint8_t>(host.dtype()));
  writer.put(static_cast<std::uint8_t>(host.shape().rank()));
  for (const auto size : host.shape().list()) writer.put(size);
  writer.put_bytes(bytes_in(host));
}

Tensor get_tensor(ByteReader& reader) {
  const auto dtype = reader.get<std::uint8_t>();
  if (dtype > static_cast<std::uint8_t>(DType::bfloat16)) throw Error(kPlace, "there is no such dtype");
  const auto rank = reader.get<std::uint8_t>();
  if (rank > Shape::kMaxRank) throw Error(kPlace, "a tensor has too many axes");
  std::vector<std::int64_t> sizes(rank);
  for (auto& size : sizes) {
    size = reader.get<std::int64_t>();
    if (size < 0) throw Error(kPlace, "a size is negative");
  }
  const Shape shape{std::span<const std::int64_t>(sizes)};
  const auto bytes = reader.get_bytes(static_cast<std::uint64_t>(shape.elements()), size_of(static_cast<DType>(dtype)));
  Tensor tensor(shape, static_cast<DType>(dtype));
  if (!bytes.empty()) std::memcpy(tensor.mutable_raw(), bytes.data(), bytes.size());
  return tensor;
}

void put_name(ByteWriter& writer, const std::string& name) {
  if (name.size() > kNameLimit) throw Error(kPlace, "the name '" + name.substr(0, 32) + "...' is too long");
  writer.put_text(name, kNameLimit);
}

void put_count(ByteWriter& writer, std::size_t count) {
  if (count > kMostTensors) throw Error(kPlace, std::to_string(count) + " tensors are too many");
  writer.put(static_cast<std::uint32_t>(count));
}

void put(ByteWriter& writer, const std::vector<Tensor>& tensors) {
  put_count(writer, tensors.size());
  expect_room(writer, tensors);
  for (const auto& tensor : tensors) put(writer, tensor);
}

std::uint32_t get_count(ByteReader& reader) {
  const auto count = reader.get<std::uint32_t>();
  if (count > kMostTensors) throw Error(kPlace, "there are too many tensors");
  return count;
}

std::vector<Tensor> get_tensors(ByteReader& reader) {
  std::vector<Tensor> tensors;
  for (auto count = get_count(reader); count > 0; --count) tensors.push_back(get_tensor(reader));
  return tensors;
}

void expect_end(const ByteReader& reader) {
  if (!reader.at_end()) throw Error(kPlace, "there are bytes behind the end");
}

}  // namespace

Frame call_frame(CallFrame kind, std::int64_t number, const std::vector<std::byte>& payload) {
  Frame frame{{.type = FrameType::control, .edge = static_cast<std::int32_t>(kind), .step = number}};
  if (!payload.empty()) frame.payload = payload_of(payload);
  return frame;
}

std::vector<std::byte> encode(const OrderedCall& call) {
  ByteWriter writer;
  put_name(writer, call.function);
  put(writer, call.inputs);
  return std::move(writer).take();
}

std::vector<std::byte> encode(const CallResult& result) {
  ByteWriter writer;
  writer.put_text(result.error, kErrorLimit);
  put(writer, result.outputs);
  put_count(writer, result.updates.size());
  for (const auto& [name, delta] : result.updates) {
    put_name(writer, name);
    put(writer, delta);
  }
  return std::move(writer).take();
}

std::vector<std::byte> encode(const VariableValue& value) {
  ByteWriter writer;
  writer.put_text(value.error, kErrorLimit);
  put(writer, value.value ? std::vector{value.value} : std::vector<Tensor>{});
  return std::move(writer).take();
}

OrderedCall decode_call(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, kPlace);
  OrderedCall call;
  call.function = reader.get_text(kNameLimit);
  call.inputs = get_tensors(reader);
  expect_end(reader);
  return call;
}

CallResult decode_result(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, kPlace);
  CallResult result;
  result.error = reader.get_text(kErrorLimit);
  result.outputs = get_tensors(reader);
  for (auto count = get_count(reader); count > 0; --count) {
    auto name = reader.get_text(kNameLimit);
    result.updates.push_back({std::move(name), get_tensor(reader)});
  }
  expect_end(reader);
  return result;
}

VariableValue decode_value(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, kPlace);
  VariableValue value;
  value.error = reader.get_text(kErrorLimit);
  auto tensors = get_tensors(reader);
  expect_end(reader);
  if (tensors.size() > 1 || tensors.empty() == value.error.empty())
    throw Error(kPlace, "a variable has either a value or an error");
  if (!tensors.empty()) value.value = std::move(tensors.front());
  return value;
}

}  // namespace troupe
