#include "troupe/ops/core/measured_choices.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

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

/// Keeps other processes out while it lives, as long as there is a place for the lock.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& file) {
    if (file.empty()) return;
    std::error_code ignored;
    std::filesystem::create_directories(file.parent_path(), ignored);
    descriptor_ = open((file.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor_ >= 0) (void)flock(descriptor_, LOCK_EX);
  }
  ~FileLock() {
    if (descriptor_ >= 0) (void)close(descriptor_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

std::string variable(const char* name) {
  const auto* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

MeasuredChoices::MeasuredChoices(std::filesystem::path file, ChoiceRule rule) : file_(std::move(file)), rule_(rule) {
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

/// What is not kept may be chosen otherwise the next time, and sum in another order.
void MeasuredChoices::warn_once(const std::string& problem) {
  if (std::exchange(warned_, true)) return;
  std::fprintf(stderr, "[choices] %s: other processes may choose other algorithms\n", problem.c_str());
}

void MeasuredChoices::warn_unwritten(const std::string& reason) {
  warn_once(file_.string() + " cannot be written (" + reason + ")");
}

void MeasuredChoices::write() {
  if (file_.empty()) return;
  std::error_code error;
  const std::filesystem::path written = file_.string() + "." + std::to_string(getpid());
  {
    std::ofstream out(written);
    for (const auto& [key, candidate] : chosen_) out << key << " " << candidate << "\n";
    if (!out.flush()) {
      warn_unwritten(std::generic_category().message(errno));
      std::filesystem::remove(written, error);
      return;
    }
  }
  std::filesystem::rename(written, file_, error);
  if (!error) return;
  warn_unwritten(error.message());
  std::filesystem::remove(written, error);
}

std::optional<std::size_t> MeasuredChoices::known(const std::string& key,
                                                  std::span<const std::string> candidates) const {
  // Within a process a choice does not change, whatever the file says by now.
  const auto& choices = chosen_for_now_.contains(key) ? chosen_for_now_ : chosen_;
  const auto chosen = choices.find(key);
  if (chosen == choices.end()) return std::nullopt;
  const auto found = std::ranges::find(candidates, chosen->second);
  if (found == candidates.end()) return std::nullopt;
  return static_cast<std::size_t>(found - candidates.begin());
}

std::size_t MeasuredChoices::choose(const std::string& key, std::span<const std::string> candidates,
                                    const Measure& measure) {
  std::lock_guard lock(mutex_);
  if (const auto before = known(key, candidates)) return *before;
  if (rule_ == ChoiceRule::first && !candidates.empty()) return 0;
  const FileLock other_processes(file_);
  read();
  if (const auto meanwhile = known(key, candidates)) return *meanwhile;
  try {
    return choose_new(key, candidates, measure);
  } catch (const CannotMeasure& error) {
    warn_once(error.what());
    chosen_for_now_[key] = candidates.front();
    return 0;
  }
}

std::size_t MeasuredChoices::choose_new(const std::string& key, std::span<const std::string> candidates,
                                        const Measure& measure) {
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

ChoiceRule default_choice_rule() {
  return variable("TROUPE_CUDA_CHOICES") == "first" ? ChoiceRule::first : ChoiceRule::fastest;
}

std::filesystem::path default_choices_file() {
  if (default_choice_rule() == ChoiceRule::first) return {};
  if (const auto given = variable("TROUPE_CUDA_CHOICES"); !given.empty()) return given;
  if (const auto cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return std::filesystem::path(cache) / "troupe" / "cuda_choices";
  const auto home = variable("HOME");
  return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".cache" / "troupe" / "cuda_choices";
}

}  // namespace troupe
