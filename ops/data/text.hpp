#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// Reads a text file, gzipped or plain, as bytes. Throws Error that names the file if it is missing, damaged or empty.
std::string read_text(const std::filesystem::path& file);

/// The characters (bytes) of a text, numbered in the order of their codes.
class Characters {
 public:
  /// Numbers the characters that occur in the text.
  explicit Characters(std::string_view text);

  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  /// The numbers of the characters of a text: int32 [N]. Throws Error for a character that has no number.
  Tensor encode(std::string_view text) const;
  /// The text of these numbers. Throws Error for a number that no character has.
  std::string decode(std::span<const std::int32_t> numbers) const;

 private:
  std::string characters_;
  std::array<std::int32_t, 256> number_{};
};

/// The options of windows over a text.
struct WindowOptions {
  /// The number of streams, which is the number of rows of a batch: each window continues the same row of the batch
  /// before, as CarriedState needs it. With 0, windows are ordinary samples.
  std::int64_t streams = 0;
};

/// Cuts a sequence int32 [N] into consecutive windows of `times` numbers: the fields "characters" [B, times], and
/// "next" [B, times], which is shifted by one number. With streams, batches have as many rows, the field "begins",
/// float32 [B], is 1 where a stream begins, and the data must not be shuffled. Throws Error if the sequence is too
/// short.
Dataset windows_of(const Tensor& sequence, std::int64_t times, WindowOptions options = {});

}  // namespace troupe
