#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "troupe/transport/bytes.hpp"
#include "troupe/transport/membership/rendezvous.hpp"

namespace troupe {

/// HELLO, the message with which a process joins a job at rank 0. The process sends the same message again to confirm
/// that it has received the members.
struct Hello {
  std::string run_id;
  int rank = 0;
  int world_size = 0;
  Agreement agreement;
  Member self;
};

/// An answer of rank 0 to a HELLO.
struct Answer {
  enum class Kind : std::uint8_t {
    welcome,  ///< has the members, after all ranks have sent a HELLO
    refused,  ///< has the reason why the process cannot join
    go,       ///< all ranks have confirmed the members
  };
  Kind kind = Kind::go;
  std::string reason = {};           ///< for `refused`
  std::vector<Member> members = {};  ///< for `welcome`: the members by rank
};

std::vector<std::byte> encode(const Hello& hello);
std::vector<std::byte> encode(const Answer& answer);
/// Decodes a HELLO. Throws Error if the bytes are not a HELLO, or one of another version of the protocol.
Hello decode_hello(std::span<const std::byte> bytes);
/// Decodes an answer. Throws Error if the bytes are not an answer.
Answer decode_answer(std::span<const std::byte> bytes);

/// Appends an encoded member to the bytes of `writer`: to a HELLO, an answer, or the message about a rank that has
/// returned.
void write(ByteWriter& writer, const Member& member);
/// Reads a member that write() has written. Throws Error if the bytes end too early, an address is too long or the role
/// is unknown.
Member read_member(ByteReader& reader);

/// Returns the first entry in which two agreements, lists of names and values, differ, as an error text such as `seed
/// is 3 on rank 1 but 4 on rank 0`; empty if the agreements are equal.
std::string difference(const Agreement& mine, int my_rank, const Agreement& theirs, int their_rank);
/// run_id_objection() returns an error text if the run id of a HELLO differs from that of `job`, and
/// world_size_objection() if the world size differs; both return an empty text if it is equal.
std::string run_id_objection(const Job& job, const Hello& hello);
std::string world_size_objection(const Job& job, const Hello& hello);
/// Returns an error text that the rank of a process belongs to another process.
std::string taken_objection(const Job& job, int rank);
/// Returns an error text that rank `from_rank` cannot connect to the addresses of rank `rank`.
std::string unreachable_objection(int rank, const Member& member, int from_rank);
/// Returns the text of a notice that a process has sent a message which is no HELLO. `reason` is the error of
/// decode_hello().
std::string foreign_notice(const std::string& reason);

}  // namespace troupe
