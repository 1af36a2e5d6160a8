#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "troupe/transport/membership/rendezvous.hpp"

namespace troupe {

/// The answer of rank 0 to a HELLO.
struct Answer {
  enum class Kind : std::uint8_t {
    welcome,  ///< all ranks have said HELLO: the members
    refused,
    go,  ///< all members have each other's addresses
  };
  Kind kind = Kind::go;
  std::string reason = {};           ///< reason of a refusal
  std::vector<Member> members = {};  ///< members of a welcome, by rank
};

std::vector<std::byte> encode(const Answer& answer);
/// Throws Error if the bytes are not an answer.
Answer decode_answer(std::span<const std::byte> bytes);

}  // namespace troupe
