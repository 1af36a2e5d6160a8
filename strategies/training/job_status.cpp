#include "troupe/strategies/training/job_status.hpp"

#include <bit>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/bytes.hpp"

namespace troupe {

std::vector<std::byte> JobStatus::encode() const {
  ByteWriter writer;
  writer.put(static_cast<std::uint8_t>(kind));
  for (const auto number : {generation, plan_hash, data_hash, std::bit_cast<std::uint64_t>(seconds)})
    writer.put(number);
  for (const auto number : {steps, rows, metrics.steps, metrics.skipped_steps, metrics.rows}) writer.put(number);
  writer.put(static_cast<std::uint8_t>(stopped));
  writer.put(std::bit_cast<std::uint64_t>(metrics.loss));
  write(writer, metrics.values);
  return std::move(writer).take();
}

JobStatus JobStatus::decode(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, "news");
  JobStatus status;
  const auto kind = reader.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(Kind::evaluated))
    throw Error("trainer", "rank 0 sends a status message of the unknown kind " + std::to_string(kind));
  status.kind = static_cast<Kind>(kind);
  for (auto* number : {&status.generation, &status.plan_hash, &status.data_hash}) *number = reader.get<std::uint64_t>();
  status.seconds = std::bit_cast<double>(reader.get<std::uint64_t>());
  auto& metrics = status.metrics;
  for (auto* number : {&status.steps, &status.rows, &metrics.steps, &metrics.skipped_steps, &metrics.rows})
    *number = reader.get<std::int64_t>();
  status.stopped = reader.get<std::uint8_t>() != 0;
  metrics.loss = std::bit_cast<double>(reader.get<std::uint64_t>());
  metrics.values = read_values(reader);
  if (!reader.at_end()) throw Error("trainer", "bytes follow the end of a status message");
  return status;
}

}  // namespace troupe
