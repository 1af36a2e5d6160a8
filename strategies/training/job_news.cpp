#include "troupe/strategies/training/job_news.hpp"

#include <bit>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/training/metrics_bytes.hpp"

namespace troupe {

std::vector<std::byte> JobNews::encode() const {
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

JobNews JobNews::decode(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, "news");
  JobNews news;
  const auto kind = reader.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(Kind::evaluated))
    throw Error("trainer", "process 0 tells news of the unknown kind " + std::to_string(kind));
  news.kind = static_cast<Kind>(kind);
  for (auto* number : {&news.generation, &news.plan_hash, &news.data_hash}) *number = reader.get<std::uint64_t>();
  news.seconds = std::bit_cast<double>(reader.get<std::uint64_t>());
  auto& metrics = news.metrics;
  for (auto* number : {&news.steps, &news.rows, &metrics.steps, &metrics.skipped_steps, &metrics.rows})
    *number = reader.get<std::int64_t>();
  news.stopped = reader.get<std::uint8_t>() != 0;
  metrics.loss = std::bit_cast<double>(reader.get<std::uint64_t>());
  metrics.values = read_values(reader);
  if (!reader.at_end()) throw Error("trainer", "bytes follow the end of news");
  return news;
}

}  // namespace troupe
