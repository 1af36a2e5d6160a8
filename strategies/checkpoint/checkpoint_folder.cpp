#include "troupe/strategies/checkpoint/checkpoint_folder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <system_error>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"

namespace troupe {

namespace {

constexpr std::string_view kPrefix = "step-";

std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const auto* const end = name.data() + name.size();
  if (std::from_chars(name.data() + kPrefix.size(), end, step).ptr != end || name != checkpoint_name(step))
    return std::nullopt;
  return step;
}

}  // namespace

std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  std::filesystem::directory_iterator next(folder, error);
  for (; !error && next != std::filesystem::directory_iterator(); next.increment(error)) paths.push_back(next->path());
  if (error) throw Error(kCheckpointPlace, "'" + folder.string() + "' cannot be read: " + error.message());
  return paths;
}

std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& folder) {
  std::vector<std::int64_t> steps;
  std::error_code unknown;
  if (std::filesystem::status(folder, unknown).type() == std::filesystem::file_type::not_found) return steps;
  for (const auto& path : paths_in(folder))
    if (const auto step = step_of(path.filename().string())) steps.push_back(*step);
  std::ranges::sort(steps);
  return steps;
}

std::string checkpoint_name(std::int64_t step) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "step-%09lld", static_cast<long long>(step));
  return name.data();
}

std::string checkpoint_hash(const Tensor& value) {
  Hash hash;
  hash.add_bytes(value.bytes() > 0 ? value.raw() : nullptr, value.bytes());
  return hash.hex();
}

std::int64_t checkpoint_rows(const Shape& shape) {
  return shape.rank() == 0 ? 1 : shape[0];
}

}  // namespace troupe
