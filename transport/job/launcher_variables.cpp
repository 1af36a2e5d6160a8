#include "troupe/transport/job/launcher_variables.hpp"

#include <charconv>
#include <cstdlib>

#include "troupe/ops/core/error.hpp"

namespace troupe {

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  };
}

void refuse_variable(const std::string& name, const std::string& value, const std::string& why) {
  throw Error("cluster", name + "='" + value + "': " + why);
}

int number_in(const std::string& name, const std::string& text) {
  int number = 0;
  const auto* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || stopped != end || number < 0)
    refuse_variable(name, text, "it must be an integer of at least 0");
  return number;
}

std::string LauncherVariables::text(const std::string& name) const {
  const auto value = environment_(name);
  if (!value) throw Error("cluster", std::string(launcher_) + " has set some of its variables, but not " + name);
  return *value;
}

Job LauncherVariables::job(const std::string& rank, const std::string& world_size, const std::string& local_rank,
                           const std::string& local_size) const {
  Job job{number(rank), number(world_size)};
  job.source = launcher_;
  if (job.world_size < 1) refuse_variable(world_size, text(world_size), "a job has at least one process");
  if (job.rank >= job.world_size)
    refuse_variable(rank, text(rank), "there are only " + text(world_size) + " ranks (" + world_size + ")");
  job.local_rank = number_or(local_rank, -1);
  job.local_size = number_or(local_size, -1);
  return job;
}

std::optional<std::string> master_address(const Environment& environment, int port_offset) {
  const auto host = environment("MASTER_ADDR");
  if (!host || host->empty()) return std::nullopt;
  const auto given = environment("MASTER_PORT");
  const auto port = number_in("MASTER_PORT", given.value_or("29400"));
  if (port < 1 || port > 65'535) refuse_variable("MASTER_PORT", given.value_or(""), "there is no such port");
  return *host + ":" + std::to_string(port + port_offset > 65'535 ? port - port_offset : port + port_offset);
}

int port_of(std::string_view job_name) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const unsigned char c : job_name) hash = (hash ^ c) * 0x100000001B3;
  return 20'000 + static_cast<int>(hash % 10'000);
}

std::string address_on(const std::string& host, const Job& job) {
  return host + ":" + std::to_string(port_of(job.source + "/" + job.run_id));
}

std::string meeting_place(const Environment& environment, const Job& job) {
  if (const auto master = master_address(environment)) return *master;
  return job.local_size == job.world_size ? address_on("127.0.0.1", job) : "";
}

}  // namespace troupe
