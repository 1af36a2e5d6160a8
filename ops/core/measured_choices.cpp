#include "troupe/ops/core/measured_choices.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "troupe/ops/core/cache_folder.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

std::optional<std::size_t> fastest(std::size_t count, const MeasuredChoices::Measure& measure) {
  std::optional<std::size_t> best;
  double best_time = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto time = measure(i);
    if (!time || (best && *time >= best_time)) continue;
    best = i;
    best_time = *time;
  }
  return best;
}

/// Locks a file beside `file`, with the suffix .lock, while the object lives, so that other processes that lock the
/// same file wait. Locks nothing if `file` is empty or the lock file cannot be opened.
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

}  // namespace

MeasuredChoices::MeasuredChoices(std::filesystem::path file, ChoiceRule rule) : file_(std::move(file)), rule_(rule) {
  read();
}

/// Adds the file's choices, which other processes may have written, to `chosen_`. A key that has a choice in this
/// process keeps it.
void MeasuredChoices::read() {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(file_, unreadable)) return;  // a device such as /dev/zero never ends
  std::ifstream in(file_);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string key, candidate, more;
    if (words >> key >> candidate && !(words >> more)) chosen_.try_emplace(key, candidate);
  }
}

/// Reports a problem on stderr; later problems of this object are not reported. After a problem another process may
/// choose other algorithms, and then the last bits of its results may differ.
void MeasuredChoices::warn_once(const std::string& problem) {
  if (std::exchange(warned_, true)) return;
  std::fprintf(stderr, "[choices] %s: other processes may choose other algorithms\n", problem.c_str());
}

/// Writes all choices to a new file that replaces the old one in one step, so that another process never reads an
/// incomplete file. Does nothing without a file. Reports a failure by warn_once().
void MeasuredChoices::write() {
  if (file_.empty()) return;
  std::error_code error;
  // The new file would take the place of a device or a folder, too.
  if (std::filesystem::exists(file_, error) && !std::filesystem::is_regular_file(file_, error))
    return warn_once(file_.string() + " is no regular file");
  const std::filesystem::path new_file = file_.string() + "." + std::to_string(getpid());
  {
    std::ofstream out(new_file);
    for (const auto& [key, candidate] : chosen_) out << key << " " << candidate << "\n";
    if (!out.flush()) error = {errno == 0 ? EIO : errno, std::generic_category()};
  }
  if (!error) std::filesystem::rename(new_file, file_, error);
  if (!error) return;
  warn_once(file_.string() + " cannot be written (" + error.message() + ")");
  std::filesystem::remove(new_file, error);
}

std::optional<std::size_t> MeasuredChoices::earlier_choice(const std::string& key,
                                                           std::span<const std::string> candidates) const {
  // A key that could not be measured keeps its choice in this process, even if another process has measured the key
  // since.
  const auto& choices = not_measured_.contains(key) ? not_measured_ : chosen_;
  const auto chosen = choices.find(key);
  if (chosen == choices.end()) return std::nullopt;
  const auto candidate = std::ranges::find(candidates, chosen->second);
  if (candidate == candidates.end()) return std::nullopt;
  return static_cast<std::size_t>(candidate - candidates.begin());
}

std::size_t MeasuredChoices::choose(const std::string& key, std::span<const std::string> candidates,
                                    const Measure& measure) {
  std::lock_guard lock(mutex_);
  if (const auto choice = earlier_choice(key, candidates)) return *choice;
  if (rule_ == ChoiceRule::first && !candidates.empty()) return 0;
  const FileLock other_processes(file_);
  read();
  if (const auto choice = earlier_choice(key, candidates)) return *choice;
  try {
    return choose_new(key, candidates, measure);
  } catch (const CannotMeasure& error) {
    warn_once(error.what());
    not_measured_[key] = candidates.front();
    return 0;
  }
}

std::size_t MeasuredChoices::choose_new(const std::string& key, std::span<const std::string> candidates,
                                        const Measure& measure) {
  const auto best = fastest(candidates.size(), measure);
  if (!best)
    throw Error("choices", "none of " + std::to_string(candidates.size()) + " candidates can be used for " + key);
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
  return environment_variable("TROUPE_CUDA_CHOICES") == "first" ? ChoiceRule::first : ChoiceRule::fastest;
}

std::filesystem::path default_choices_file() {
  if (default_choice_rule() == ChoiceRule::first) return {};
  if (const auto given = environment_variable("TROUPE_CUDA_CHOICES"); !given.empty()) return given;
  const auto folder = cache_folder();
  return folder.empty() ? std::filesystem::path() : folder / "cuda_choices";
}

}  // namespace troupe
