#include "troupe/transport/failure.hpp"

#include <array>

#include "troupe/transport/bytes.hpp"

namespace troupe {

namespace {

constexpr std::size_t kNameLimit = 256;
constexpr std::size_t kTextLimit = 7'168;
constexpr int kCauseLimit = 8;

void write(ByteWriter& writer, const Failure& failure, int depth) {
  writer.put(static_cast<std::int32_t>(failure.rank));
  writer.put(static_cast<std::int32_t>(failure.replica));
  writer.put(failure.step);
  writer.put(static_cast<std::uint8_t>(failure.kind));
  writer.put(failure.row);
  writer.put(failure.sample);
  writer.put_text(failure.actor, kNameLimit);
  writer.put_text(failure.op, kNameLimit);
  writer.put_text(failure.what, kTextLimit);
  const bool more = failure.cause && depth < kCauseLimit;
  writer.put(static_cast<std::uint8_t>(more ? 1 : 0));
  if (more) write(writer, *failure.cause, depth + 1);
}

bool read_flag(ByteReader& reader) {
  const auto flag = reader.get<std::uint8_t>();
  if (flag > 1) throw Error("failure", "flag " + std::to_string(flag) + " is neither 0 nor 1");
  return flag == 1;
}

FailurePtr read(ByteReader& reader, int depth) {
  if (depth > kCauseLimit) throw Error("failure", "the chain of causes is too long");
  auto failure = std::make_shared<Failure>();
  failure->rank = reader.get<std::int32_t>();
  failure->replica = reader.get<std::int32_t>();
  failure->step = reader.get<std::int64_t>();
  const auto kind = reader.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(FailureKind::aborted))
    throw Error("failure", "there is no kind " + std::to_string(kind));
  failure->kind = static_cast<FailureKind>(kind);
  failure->row = reader.get<std::int64_t>();
  failure->sample = reader.get<std::int64_t>();
  failure->actor = reader.get_text(kNameLimit);
  failure->op = reader.get_text(kNameLimit);
  failure->what = reader.get_text(kTextLimit);
  if (read_flag(reader)) failure->cause = read(reader, depth + 1);
  return failure;
}

}  // namespace

std::string to_string(FailureKind kind) {
  constexpr std::array kKinds{"op_error", "actor_died", "part_died", "stalled", "invalid_sample", "aborted"};
  return kKinds.at(static_cast<std::size_t>(kind));
}

std::string to_string(const Failure& failure) {
  const auto& name = failure.op.empty() ? failure.actor : failure.op;
  // The text of a stall, or of the loss of a process, already names the actor or the process; op and step would add
  // nothing.
  if (name.empty() || failure.kind == FailureKind::stalled || failure.kind == FailureKind::part_died)
    return failure.what;
  const auto rank = failure.rank < 0 ? std::string() : ", rank " + std::to_string(failure.rank);
  return failure.what + " (op " + name + ", step " + std::to_string(failure.step) + ", replica " +
         std::to_string(failure.replica) + rank + ")";
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (const std::string& text) {
    return text;
  } catch (const char* text) {
    return text;
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

Failure with_cause(Failure origin, const std::exception_ptr& error) {
  origin.what = text_of(error);
  try {
    std::rethrow_exception(error);
  } catch (const InvalidSample& invalid) {
    origin.kind = FailureKind::invalid_sample;
    origin.row = invalid.row();
    origin.sample = invalid.sample();
  } catch (...) {
    // Any other exception leaves the kind as it is.
  }
  return origin;
}

FailurePtr current_failure(Failure origin) {
  return std::make_shared<const Failure>(with_cause(std::move(origin), std::current_exception()));
}

FailurePtr root_failure(const Failure& origin) {
  try {
    throw;
  } catch (const Aborted& aborted) {
    return aborted.failure();
  } catch (...) {
    return current_failure(origin);
  }
}

FailurePtr failure_of_process(int process, std::string text, FailurePtr cause) {
  return std::make_shared<const Failure>(Failure{.rank = process,
                                                 .actor = "process " + std::to_string(process),
                                                 .kind = FailureKind::part_died,
                                                 .what = std::move(text),
                                                 .cause = std::move(cause)});
}

Aborted::Aborted(FailurePtr failure) : Error("aborted", to_string(*failure)), failure_(std::move(failure)) {}

std::vector<std::byte> encode(const Failure& failure) {
  ByteWriter writer;
  write(writer, failure, 1);
  return std::move(writer).take();
}

FailurePtr decode_failure(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, "failure");
  auto failure = read(reader, 1);
  if (!reader.at_end()) throw Error("failure", "bytes follow its end");
  return failure;
}

}  // namespace troupe
