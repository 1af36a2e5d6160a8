#include "troupe/transport/membership/rendezvous_messages.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/secret.hpp"

namespace troupe {

namespace {

constexpr std::uint32_t kMagic = 0x48505254;  // "TRPH"
constexpr std::uint16_t kVersion = 3;
constexpr std::size_t kNameLimit = 256;
constexpr std::size_t kValueLimit = 4'096;
constexpr std::size_t kReasonLimit = 8'192;
constexpr std::uint32_t kMaxEntries = 256;

void write(ByteWriter& writer, const EndpointAddress& address) {
  for (const auto* text : {&address.tcp, &address.ipc, &address.identity, &address.key, &address.host})
    writer.put_text(*text, kNameLimit);
  writer.put(address.pid);
}

EndpointAddress read_address(ByteReader& reader) {
  EndpointAddress address;
  for (auto* text : {&address.tcp, &address.ipc, &address.identity, &address.key, &address.host})
    *text = reader.get_text(kNameLimit);
  address.pid = reader.get<std::int64_t>();
  return address;
}

}  // namespace

void write(ByteWriter& writer, const Member& member) {
  write(writer, member.control);
  write(writer, member.data);
  writer.put(static_cast<std::uint8_t>(member.role));
}

Member read_member(ByteReader& reader) {
  Member member;
  member.control = read_address(reader);
  member.data = read_address(reader);
  const auto role = reader.get<std::uint8_t>();
  if (role > static_cast<std::uint8_t>(ProcessRole::evaluator))
    throw Error("rendezvous", "a process has the unknown role " + std::to_string(role));
  member.role = static_cast<ProcessRole>(role);
  return member;
}

std::vector<std::byte> encode(const Hello& hello) {
  ByteWriter writer;
  writer.put(kMagic);
  writer.put(kVersion);
  writer.put_text(hello.run_id, kNameLimit);
  writer.put(static_cast<std::int32_t>(hello.rank));
  writer.put(static_cast<std::int32_t>(hello.world_size));
  writer.put(static_cast<std::uint32_t>(hello.agreement.size()));
  for (const auto& [name, value] : hello.agreement) {
    writer.put_text(name, kNameLimit);
    writer.put_text(value, kValueLimit);
  }
  write(writer, hello.self);
  return std::move(writer).take();
}

Hello decode_hello(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, "hello");
  if (reader.get<std::uint32_t>() != kMagic) throw Error("hello", "the message does not begin with the magic number");
  const auto version = reader.get<std::uint16_t>();
  if (version != kVersion)
    throw Error("hello", "version " + std::to_string(version) + " of the protocol is not " + std::to_string(kVersion));
  Hello hello;
  hello.run_id = reader.get_text(kNameLimit);
  hello.rank = reader.get<std::int32_t>();
  hello.world_size = reader.get<std::int32_t>();
  const auto entries = reader.get<std::uint32_t>();
  if (entries > kMaxEntries) throw Error("hello", std::to_string(entries) + " entries are too many");
  for (std::uint32_t i = 0; i < entries; ++i) {
    auto name = reader.get_text(kNameLimit);
    hello.agreement.emplace_back(std::move(name), reader.get_text(kValueLimit));
  }
  hello.self = read_member(reader);
  if (!reader.at_end()) throw Error("hello", "bytes follow its end");
  return hello;
}

std::vector<std::byte> encode(const Answer& answer) {
  ByteWriter writer;
  writer.put(static_cast<std::uint8_t>(answer.kind));
  if (answer.kind != Answer::Kind::welcome) {
    writer.put_text(answer.reason, kReasonLimit);
    return std::move(writer).take();
  }
  writer.put(static_cast<std::uint32_t>(answer.members.size()));
  for (const auto& member : answer.members) write(writer, member);
  return std::move(writer).take();
}

Answer decode_answer(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, "rendezvous");
  const auto kind = reader.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(Answer::Kind::go))
    throw Error("rendezvous", "there is no answer of kind " + std::to_string(kind));
  Answer answer{static_cast<Answer::Kind>(kind)};
  if (answer.kind == Answer::Kind::welcome) {
    const auto count = reader.get<std::uint32_t>();
    // Allocates memory for each member as it is read, because `count` comes from a sender that is not trusted.
    for (std::uint32_t i = 0; i < count; ++i) answer.members.push_back(read_member(reader));
  } else {
    answer.reason = reader.get_text(kReasonLimit);
  }
  if (!reader.at_end()) throw Error("rendezvous", "bytes follow the end of an answer");
  return answer;
}

std::string difference(const Agreement& mine, int my_rank, const Agreement& theirs, int their_rank) {
  const auto on = [](int rank) { return " on rank " + std::to_string(rank); };
  for (std::size_t i = 0; i < std::max(mine.size(), theirs.size()); ++i) {
    if (i >= mine.size()) return "'" + printable(theirs[i].first) + "' is known only" + on(their_rank);
    if (i >= theirs.size()) return "'" + mine[i].first + "' is known only" + on(my_rank);
    const auto& [name, value] = mine[i];
    if (name != theirs[i].first)
      return "'" + name + "'" + on(my_rank) + " is '" + printable(theirs[i].first) + "'" + on(their_rank);
    if (value != theirs[i].second)
      return name + " is " + printable(theirs[i].second) + on(their_rank) + " but " + printable(value) + on(my_rank);
  }
  return {};
}

std::string run_id_objection(const Job& job, const Hello& hello) {
  if (hello.run_id == job.run_id) return {};
  return "rank " + std::to_string(hello.rank) + " belongs to run '" + printable(hello.run_id) + "', this is '" +
         printable(job.run_id) + "'";
}

std::string world_size_objection(const Job& job, const Hello& hello) {
  if (hello.world_size == job.world_size) return {};
  return "world size is " + std::to_string(hello.world_size) + " on rank " + std::to_string(hello.rank) + " but " +
         std::to_string(job.world_size) + " on rank 0";
}

std::string taken_objection(const Job& job, int rank) {
  return "there is a rank " + std::to_string(rank) + " already at " + job.rendezvous +
         "; if two jobs meet there, give each an address or a run id of its own";
}

std::string unreachable_objection(int rank, const Member& member, int from_rank) {
  return "rank " + std::to_string(rank) + " listens at " + printable(member.control.tcp) +
         ", but cannot be reached there from rank " + std::to_string(from_rank) +
         ": check the addresses of --bind, and firewalls";
}

std::string foreign_notice(const std::string& reason) {
  return "a process that does not belong to the job has connected: " + printable(reason);
}

}  // namespace troupe
