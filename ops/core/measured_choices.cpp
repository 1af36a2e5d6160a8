#include "troupe/ops/core/measured_choices.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

std::optional<std::size_t> fastest(std::size_t count, const MeasuredChoices::Measure& measure) {
  std::optional<std::size_t> best;
  double least = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto time = measure(i);
    if (!time || (best && *time >= least)) continue;
    best = i;
    least = *time;
  }
  return best;
}

std::string variable(const char* name) {
  const auto* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

MeasuredChoices::MeasuredChoices(std::filesystem::path file) : file_(std::move(file)) {
  read();
}

/// What other processes have written meanwhile counts, unless it was chosen here already.
void MeasuredChoices::read() {
  std::ifstream in(file_);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string key, candidate, more;
    if (words >> key >> candidate && !(words >> more)) chosen_.try_emplace(key, candidate);
  }
}

/// A file that cannot be written costs the next process the measuring, no more.
void MeasuredChoices::write() {
  if (file_.empty()) return;
  read();
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  const std::filesystem::path written = file_.string() + "." + std::to_string(getpid());
  {
    std::ofstream out(written);
    for (const auto& [key, candidate] : chosen_) out << key << " " << candidate << "\n";
    if (!out.flush()) {
      std::filesystem::remove(written, ignored);
      return;
    }
  }
  std::filesystem::rename(written, file_, ignored);
  if (ignored) std::filesystem::remove(written, ignored);
}

std::size_t MeasuredChoices::choose(const std::string& key, std::span<const std::string> candidates,
                                    const Measure& measure) {
  std::lock_guard lock(mutex_);
  if (const auto known = chosen_.find(key); known != chosen_.end()) {
    const auto found = std::ranges::find(candidates, known->second);
    if (found != candidates.end()) return static_cast<std::size_t>(found - candidates.begin());
  }
  const auto best = fastest(candidates.size(), measure);
  if (!best) throw Error("choices", "none of " + std::to_string(candidates.size()) + " ways can be used for " + key);
  chosen_[key] = candidates[*best];
  ++measured_;
  write();
  return *best;
}

std::size_t MeasuredChoices::measured() const {
  std::lock_guard lock(mutex_);
  return measured_;
}

std::filesystem::path default_choices_file() {
  if (const auto given = variable("TROUPE_CUDA_CHOICES"); !given.empty()) return given;
  if (const auto cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return std::filesystem::path(cache) / "troupe" / "cuda_choices";
  const auto home = variable("HOME");
  return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".cache" / "troupe" / "cuda_choices";
}

}  // namespace troupe
