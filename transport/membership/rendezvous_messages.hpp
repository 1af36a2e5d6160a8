#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "troupe/transport/bytes.hpp"
#include "troupe/transport/membership/rendezvous.hpp"

namespace troupe {

/// The first message of a process to rank 0.
struct Hello {
  std::string run_id;
  int rank = 0;
  int world_size = 0;
  Agreement agreement;
  Member self;
};

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

std::vector<std::byte> encode(const Hello& hello);
std::vector<std::byte> encode(const Answer& answer);
/// Throws Error if the bytes are not a HELLO, or one of another version of the protocol.
Hello decode_hello(std::span<const std::byte> bytes);
/// Throws Error if the bytes are not an answer.
Answer decode_answer(std::span<const std::byte> bytes);

/// Writes a member as a part of a HELLO, of an answer, or of the message that a rank has returned.
void write(ByteWriter& writer, const Member& member);
/// Throws Error if the bytes end too early or the role is unknown.
Member read_member(ByteReader& reader);

/// The first entry in which two agreements differ, as an error text: `seed is 3 on rank 1 but 4 on rank 0`. Empty if
/// they are equal.
std::string difference(const Agreement& mine, int my_rank, const Agreement& theirs, int their_rank);
/// Why a HELLO does not belong to a job: because of its run id, or of its world size. Empty if that is equal.
std::string run_id_objection(const Job& job, const Hello& hello);
std::string world_size_objection(const Job& job, const Hello& hello);
/// The notice about a process whose first message is not a HELLO.
std::string foreign_notice(const std::string& reason);

}  // namespace troupe
