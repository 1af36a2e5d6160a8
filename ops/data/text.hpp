#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// Reads a text file, gzipped or plain, and returns its bytes. Throws Error that names the file if it is missing,
/// damaged or empty.
std::string read_text(const std::filesystem::path& file);

/// The set of characters (bytes) of a text, each with a number. The numbers count from 0 in the order of the character
/// codes.
class Characters {
 public:
  /// Gives a number to each character that occurs in `text`.
  explicit Characters(std::string_view text);

  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  /// Returns the numbers of the characters of a text, int32 [N]. Throws Error for a character that has no number.
  Tensor encode(std::string_view text) const;
  /// Returns the text whose characters have the given numbers. Throws Error for a number that no character has.
  std::string decode(std::span<const std::int32_t> numbers) const;

 private:
  std::string characters_;
  std::array<std::int32_t, 256> number_{};
};

/// The options of windows_of().
struct WindowOptions {
  /// The number of streams, which becomes the number of rows of a batch (see Dataset::in_streams): each row of a batch
  /// is the window after the one in the same row of the batch before, as recurrent layers with a CarriedState require.
  /// With 0, there are no streams, and the windows may be visited in any order.
  std::int64_t streams = 0;
};

/// Makes a data set whose samples are consecutive windows of `times` numbers of a sequence int32 [N]; numbers that fill
/// no window are dropped. The fields are "characters", int32 [B, times], and "next", int32 [B, times], whose windows
/// begin one number later. If `options.streams` is above 0, each batch has `options.streams` rows, the data cannot be
/// shuffled, and a field "begins", float32 [B], is 1 for the first window of a stream and 0 for the others. Throws
/// Error if the sequence is too short or of another shape or dtype, `times` is below 1, or `options.streams` is
/// negative.
Dataset windows_of(const Tensor& sequence, std::int64_t times, WindowOptions options = {});

}  // namespace troupe
