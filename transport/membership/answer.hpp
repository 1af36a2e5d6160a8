#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "troupe/transport/membership/rendezvous.hpp"

namespace troupe {

/// What rank 0 answers to a HELLO.
struct Answer {
  enum class Kind : std::uint8_t {
    welcome,  ///< all have come
    refused,
    go,  ///< all know each other
  };
  Kind kind = Kind::go;
  std::string reason = {};           ///< why it refuses
  std::vector<Member> members = {};  ///< by rank, of a welcome
};

std::vector<std::byte> encode(const Answer& answer);
/// Throws Error if the bytes are no answer.
Answer decode_answer(std::span<const std::byte> bytes);

}  // namespace troupe
