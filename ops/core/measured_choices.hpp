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

/// The choice for a key without an earlier choice: the fastest candidate, which is measured, or the first one.
enum class ChoiceRule { fastest, first };

/// Thrown by a measurement that is not possible now, for example for lack of memory.
class CannotMeasure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Chooses the fastest of several algorithms for the same work by measuring them, once for every key, and remembers the
/// choice. With a file, all processes of a machine make the same choices. Algorithms may differ in the last bits of
/// their results, so two runs are equal to the bit only with a file, or with ChoiceRule::first, which measures nothing.
/// Thread-safe.
class MeasuredChoices {
 public:
  /// The microseconds that candidate i takes; nothing if it cannot be used. May throw CannotMeasure.
  using Measure = std::function<std::optional<double>(std::size_t i)>;

  /// Reads the file if it exists. Lines that cannot be read are skipped. With an empty path no choice is stored.
  explicit MeasuredChoices(std::filesystem::path file = {}, ChoiceRule rule = ChoiceRule::fastest);

  /// The number of the candidate for a key: the candidate that was chosen before if it is in the list, else the choice
  /// of the rule. The names of candidates differ; neither they nor the key contain white space. Other threads wait
  /// while one measures, as do other processes with the same file, which then find the choice there. After
  /// CannotMeasure the choice is the first candidate, in this process alone, and a line on stderr reports it. Throws
  /// Error if no candidate can be used.
  std::size_t choose(const std::string& key, std::span<const std::string> candidates, const Measure& measure);

  /// The number of keys that this object has measured.
  std::size_t measured() const;

 private:
  void read();
  void write();
  void warn_once(const std::string& problem);
  /// The number of the candidate that was chosen before; nothing if there is none or it is not in the list.
  std::optional<std::size_t> earlier_choice(const std::string& key, std::span<const std::string> candidates) const;
  std::size_t choose_new(const std::string& key, std::span<const std::string> candidates, const Measure& measure);

  std::filesystem::path file_;
  ChoiceRule rule_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> chosen_;        // candidate by key, as in the file
  std::map<std::string, std::string> not_measured_;  // candidate by key, for this process alone
  std::size_t measured_ = 0;
  bool warned_ = false;
};

/// The file with a user's choices for GPUs: the value of TROUPE_CUDA_CHOICES, else `troupe/cuda_choices` in the user's
/// cache folder. Empty without a cache folder and if default_choice_rule() is `first`.
std::filesystem::path default_choices_file();
/// ChoiceRule::first if the environment variable TROUPE_CUDA_CHOICES is `first`, else ChoiceRule::fastest.
ChoiceRule default_choice_rule();

}  // namespace troupe
