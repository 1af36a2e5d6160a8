#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace troupe {

/// Chooses the fastest of several ways to do the same work by measuring them, once for every key, and remembers the
/// choice, in a file too if there is one: then all processes of a machine choose alike. Ways may differ in the last
/// bits of what they compute, so the file is what makes two runs equal to the bit. Thread-safe.
class MeasuredChoices {
 public:
  /// Microseconds that candidate i takes; nothing if it cannot be used.
  using Measure = std::function<std::optional<double>(std::size_t i)>;

  /// Reads the file, if there is one. Lines that cannot be read are skipped. An empty path: choices are not kept.
  explicit MeasuredChoices(std::filesystem::path file = {});

  /// The number of the candidate for a key: the one that was chosen before, if it is among them, else the fastest. Each
  /// candidate has a name of its own without white space, and so has the key. Other threads wait while one measures.
  /// Throws Error if no candidate can be used.
  std::size_t choose(const std::string& key, std::span<const std::string> candidates, const Measure& measure);

  /// Keys that were measured here, not found in the file.
  std::size_t measured() const;

 private:
  void read();
  void write();

  std::filesystem::path file_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> chosen_;
  std::size_t measured_ = 0;
};

/// The file in which a user's choices for GPUs are kept: what TROUPE_CUDA_CHOICES says, else `troupe/cuda_choices` in
/// the user's cache folder; empty if there is none.
std::filesystem::path default_choices_file();

}  // namespace troupe
