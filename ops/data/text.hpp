#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// A text file, gzipped or plain, as its bytes. Throws Error that names the file if it is missing, damaged or empty.
std::string read_text(const std::filesystem::path& file);

/// The characters (bytes) of a text, numbered in their order as bytes.
class Characters {
 public:
  /// Those that occur in a text.
  explicit Characters(std::string_view text);

  std::int64_t size() const { return static_cast<std::int64_t>(known_.size()); }
  /// The numbers of all characters: int32 [N]. Throws Error for one that is not known.
  Tensor encode(std::string_view text) const;
  /// The text of numbers.
  std::string decode(std::span<const std::int32_t> numbers) const;

 private:
  std::string known_;
  std::array<std::int32_t, 256> number_{};
};

struct WindowOptions {
  /// The first windows of a batch are each continued by the same row of the next batch, as CarriedState needs it: so
  /// many texts side by side, which are the batches' rows. 0: the windows are samples like any other.
  std::int64_t streams = 0;
};

/// A sequence int32 [N] cut into windows of `times` numbers, one behind the other: the field "characters" [B, times],
/// and "next" [B, times], which is one further on. With streams, batches have that many rows, and a field "begins",
/// float32 [B], is 1 where a stream begins; the data must not be shuffled then. Throws Error if the sequence is too
/// short.
Dataset windows_of(const Tensor& sequence, std::int64_t times, WindowOptions options = {});

}  // namespace troupe
