#include "troupe/transport/membership/answer.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/membership/member_bytes.hpp"

namespace troupe {

namespace {

constexpr std::size_t kReasonLimit = 8'192;

}  // namespace

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
    // Takes memory for the members as they are read, because the count is not trusted.
    for (std::uint32_t i = 0; i < count; ++i) answer.members.push_back(read_member(reader));
  } else {
    answer.reason = reader.get_text(kReasonLimit);
  }
  if (!reader.at_end()) throw Error("rendezvous", "bytes follow the end of an answer");
  return answer;
}

}  // namespace troupe
