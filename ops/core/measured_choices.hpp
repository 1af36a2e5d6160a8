#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

namespace troupe {

/// What is chosen where nothing was chosen before.
enum class ChoiceRule { fastest, first };

/// Nothing can be measured now.
class CannotMeasure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Chooses the fastest of several ways to do the same work by measuring them, once for every key, and remembers the
/// choice, in a file too if there is one: then all processes of a machine choose alike. Ways may differ in the last
/// bits of what they compute, so the file is what makes two runs equal to the bit; without a file, ChoiceRule::first
/// does, which measures nothing. Thread-safe.
class MeasuredChoices {
 public:
  /// Microseconds that candidate i takes; nothing if it cannot be used. May throw CannotMeasure.
  using Measure = std::function<std::optional<double>(std::size_t i)>;

  /// Reads the file, if there is one. Lines that cannot be read are skipped. An empty path: choices are not kept.
  explicit MeasuredChoices(std::filesystem::path file = {}, ChoiceRule rule = ChoiceRule::fastest);

  /// The number of the candidate for a key: the one that was chosen before, if it is among them, else the fastest. Each
  /// candidate has a name of its own without white space, and so has the key. Other threads wait while one measures,
  /// and so do other processes that have the same file: they find the choice there. Where nothing can be measured it is
  /// the first candidate, for this process alone, and a line on stderr says so. Throws Error if no candidate can be
  /// used.
  std::size_t choose(const std::string& key, std::span<const std::string> candidates, const Measure& measure);

  /// Keys that were measured here, not found in the file.
  std::size_t measured() const;

 private:
  void read();
  void write();
  void warn_once(const std::string& problem);
  void warn_unwritten(const std::string& reason);
  std::optional<std::size_t> known(const std::string& key, std::span<const std::string> candidates) const;
  std::size_t choose_new(const std::string& key, std::span<const std::string> candidates, const Measure& measure);

  std::filesystem::path file_;
  ChoiceRule rule_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> chosen_, chosen_for_now_;
  std::size_t measured_ = 0;
  bool warned_ = false;
};

/// The file in which a user's choices for GPUs are kept: what TROUPE_CUDA_CHOICES says, else `troupe/cuda_choices` in
/// the user's cache folder; empty if there is none, or if default_choice_rule() is `first`.
std::filesystem::path default_choices_file();
/// `first` if TROUPE_CUDA_CHOICES is `first`.
ChoiceRule default_choice_rule();

}  // namespace troupe
