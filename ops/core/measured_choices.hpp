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

/// How MeasuredChoices chooses for a key that has no earlier choice: `fastest` measures all candidates and takes the
/// fastest; `first` takes the first candidate and measures nothing.
enum class ChoiceRule { fastest, first };

/// Thrown by a MeasuredChoices::Measure if a measurement is not possible now, for example for lack of memory.
class CannotMeasure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Chooses the fastest of several algorithms, the candidates, for a piece of work. A key, a text without white space,
/// names the work. The candidates are measured once for every key, and the choice is remembered. All processes of a
/// machine that use the same file make the same choices. Algorithms may differ in the last bits of their results, so
/// two runs are equal to the bit only if they share a file, or with ChoiceRule::first. Thread-safe.
class MeasuredChoices {
 public:
  /// Returns the microseconds that candidate i takes; nothing if the candidate cannot be used. May throw CannotMeasure.
  using Measure = std::function<std::optional<double>(std::size_t i)>;

  /// `file` stores the choices; its content is read now if it exists, except lines that cannot be read. With an empty
  /// path choices are kept in memory only.
  explicit MeasuredChoices(std::filesystem::path file = {}, ChoiceRule rule = ChoiceRule::fastest);

  /// Returns the index of the candidate for a key: the candidate chosen before if it is in the list, else the choice by
  /// the rule. The names of the candidates must differ and must not contain white space. While one thread measures,
  /// other threads wait, and so do other processes with the same file, which then find the choice in the file. If
  /// `measure` throws CannotMeasure, this process uses the first candidate for the key from then on and does not write
  /// that choice to the file. The first problem of the object, a CannotMeasure or a file that cannot be written, is
  /// reported on stderr. Throws Error if no candidate can be used.
  std::size_t choose(const std::string& key, std::span<const std::string> candidates, const Measure& measure);

  /// The number of keys for which this object has measured the candidates and made a choice.
  std::size_t measured() const;

 private:
  void read();
  void write();
  void warn_once(const std::string& problem);
  /// The index of the candidate that was chosen before for the key; nothing if none was chosen or the chosen one is not
  /// in `candidates`.
  std::optional<std::size_t> earlier_choice(const std::string& key, std::span<const std::string> candidates) const;
  std::size_t choose_new(const std::string& key, std::span<const std::string> candidates, const Measure& measure);

  std::filesystem::path file_;
  ChoiceRule rule_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> chosen_;        // name of the chosen candidate by key, as in the file
  std::map<std::string, std::string> not_measured_;  // name of the first candidate by key, after CannotMeasure
  std::size_t measured_ = 0;
  bool warned_ = false;
};

/// The file that stores the measured choices of a user for GPUs: the value of the environment variable
/// TROUPE_CUDA_CHOICES, else `troupe/cuda_choices` in the cache folder of the user. Empty if there is no cache folder
/// or default_choice_rule() is `first`.
std::filesystem::path default_choices_file();
/// ChoiceRule::first if the environment variable TROUPE_CUDA_CHOICES is `first`, else ChoiceRule::fastest.
ChoiceRule default_choice_rule();

}  // namespace troupe
