#include "troupe/transport/frame.hpp"

#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "troupe/tests/catch.hpp"
#include "troupe/transport/payload.hpp"

using namespace troupe;

namespace {

constexpr std::size_t kPayloadLimit = 1'000'000;

Frame tensor_frame() {
  return {{FrameType::tensor_ready, 7, 1, 2, 11, -3, 1'000'000'000'000},
          Tensor::from<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6})};
}

DecodedHeader decode(std::span<const std::byte> bytes) {
  return decode_header(bytes, kPayloadLimit);
}

std::span<const std::byte> payload_bytes(const Tensor& tensor) {
  return {tensor.raw(), tensor.bytes()};
}

}  // namespace

TEST_CASE("the header of a frame of every type is decoded to what was encoded, and admits its payload") {
  const auto bytes = Tensor::from<std::uint8_t>({3}, std::vector<std::uint8_t>{1, 2, 3});
  const auto failure = failure_payload({.what = "broken"});
  const std::vector<Frame> frames{
      tensor_frame(),
      {{FrameType::tensor_ready}, Tensor::scalar<std::int64_t>(-5)},
      {{FrameType::tensor_ready}, Tensor(Shape{0, 5}, DType::int32)},
      {{FrameType::tensor_ready}, Tensor(Shape{1, 2, 1, 2, 1, 2}, DType::bfloat16)},
      {{FrameType::failure_ready, 3}, failure},
      {{FrameType::credit_returned, 3, 1, 2}},
      {{FrameType::data_ended, 3}},
      {{FrameType::control, 3, -1}, bytes},
      {{FrameType::collective_part, 0, 1}, Tensor(Shape{4}, DType::float32)},
      {{FrameType::collective_send}, Tensor::scalar(1.0F)},
      {{FrameType::collective_abort}, failure},
      {{.type = FrameType::collective_leave, .step = 7}, failure},
  };
  for (const auto& frame : frames) {
    const auto decoded = decode(encode_header(frame));
    CHECK(decoded.header == frame.header);
    CHECK(decoded.payload == TensorInfo{frame.payload.shape(), frame.payload.dtype()});
    CHECK_NOTHROW(check_payload(decoded, payload_bytes(frame.payload)));
  }
}

TEST_CASE("a header is little-endian at fixed places") {
  const auto encoded = encode_header(tensor_frame());
  const auto byte = [&](std::size_t at) { return std::to_integer<int>(encoded[at]); };
  CHECK(std::memcmp(encoded.data(), "TTRP", 4) == 0);
  CHECK(byte(4) == 1);
  CHECK(byte(6) == static_cast<int>(FrameType::tensor_ready));
  CHECK(byte(8) == 7);
  CHECK(byte(24) == 11);
  CHECK(byte(32) == 0xFD);
  CHECK(byte(39) == 0xFF);
  CHECK(byte(48) == 2);
  CHECK(byte(56) == 2);
  CHECK(byte(64) == 3);
  CHECK(byte(104) == 24);
}

TEST_CASE("every truncation of a header is refused, and every longer one") {
  const auto encoded = encode_header(tensor_frame());
  for (std::size_t length = 0; length < encoded.size(); ++length)
    CHECK_THROWS_WITH(decode(std::span(encoded).first(length)), Contains("[frame] a header has 128 bytes"));
  std::vector<std::byte> longer(encoded.begin(), encoded.end());
  longer.push_back(std::byte{0});
  CHECK_THROWS_AS(decode(longer), Error);
}

TEST_CASE("every flipped bit of a header is refused") {
  const auto encoded = encode_header(tensor_frame());
  for (std::size_t bit = 0; bit < 8 * encoded.size(); ++bit) {
    auto damaged = encoded;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    CHECK_THROWS_AS(decode(damaged), Error);
  }
}

TEST_CASE("every flipped bit and every truncation of a payload is refused") {
  const auto frame = tensor_frame();
  const auto decoded = decode(encode_header(frame));
  for (std::size_t bit = 0; bit < 8 * frame.payload.bytes(); ++bit) {
    const auto damaged = frame.payload.clone();
    damaged.mutable_raw()[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    CHECK_THROWS_WITH(check_payload(decoded, payload_bytes(damaged)), Contains("the payload's checksum"));
  }
  for (std::size_t length = 0; length < frame.payload.bytes(); ++length)
    CHECK_THROWS_WITH(check_payload(decoded, payload_bytes(frame.payload).first(length)), Contains("was announced"));
}

TEST_CASE("no memory is promised beyond the limit, and bytes stay bytes") {
  const Frame large{{FrameType::tensor_ready}, Tensor(Shape{1000}, DType::float32)};
  CHECK_NOTHROW(decode_header(encode_header(large), 4000));
  CHECK_THROWS_WITH(decode_header(encode_header(large), 3999), Contains("above the limit of 3999 bytes"));
  const Frame credit{{FrameType::credit_returned}, Tensor::scalar(1.0F)};
  CHECK_THROWS_WITH(decode(encode_header(credit)), Contains("has no payload"));
  const Frame control{{FrameType::control}, Tensor::scalar(1.0F)};
  CHECK_THROWS_WITH(decode(encode_header(control)), Contains("carries bytes"));
}

TEST_CASE("a part of a payload that lies in this process is read from its place, and nothing beyond its end") {
  const TensorPayload payload(Tensor::from<float>({4}, std::vector<float>{1, 2, 3, 4}));
  std::vector<float> part(2);
  payload.read(2 * sizeof(float), std::as_writable_bytes(std::span(part)));
  CHECK(part == std::vector<float>{3, 4});
  CHECK_THROWS_WITH(payload.read(3 * sizeof(float), std::as_writable_bytes(std::span(part))),
                    Contains("[payload] 8 bytes from 12 on are wanted"));
}
