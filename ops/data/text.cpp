#include "troupe/ops/data/text.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/gzip_file.hpp"

namespace troupe {

std::string read_text(const std::filesystem::path& path) {
  GzipFile file("text", path);
  auto text = file.within_memory([&] { return file.read_all(); });
  if (text.empty()) file.refuse("is empty");
  return text;
}

Characters::Characters(std::string_view text) {
  number_.fill(-1);
  for (const auto character : text) number_[static_cast<unsigned char>(character)] = 0;
  for (std::size_t byte = 0; byte < number_.size(); ++byte) {
    if (number_[byte] < 0) continue;
    number_[byte] = static_cast<std::int32_t>(characters_.size());
    characters_.push_back(static_cast<char>(byte));
  }
}

Tensor Characters::encode(std::string_view text) const {
  Tensor numbers({static_cast<std::int64_t>(text.size())}, DType::int32);
  auto elements = numbers.mutable_data<std::int32_t>();
  for (std::size_t i = 0; i < text.size(); ++i) {
    elements[i] = number_[static_cast<unsigned char>(text[i])];
    if (elements[i] < 0)
      throw Error("characters", "the character with code " + std::to_string(static_cast<unsigned char>(text[i])) +
                                    " at position " + std::to_string(i) + " has no number");
  }
  return numbers;
}

std::string Characters::decode(std::span<const std::int32_t> numbers) const {
  std::string text;
  for (const auto number : numbers) {
    if (number < 0 || number >= size())
      throw Error("characters", "there is no character number " + std::to_string(number));
    text.push_back(characters_[static_cast<std::size_t>(number)]);
  }
  return text;
}

Dataset windows_of(const Tensor& sequence, std::int64_t times, WindowOptions options) {
  if (!sequence || sequence.shape().rank() != 1 || sequence.dtype() != DType::int32)
    throw Error("windows", "needs a sequence int32[N]");
  if (times < 1 || options.streams < 0) throw Error("windows", "needs at least one number in a window");
  auto windows = (sequence.elements() - 1) / times;
  if (options.streams > 0) windows = windows / options.streams * options.streams;
  if (sequence.elements() == 0 || windows < 1)
    throw Error("windows", to_string(sequence) + " is too short for windows of " + std::to_string(times));
  const auto data = Dataset::from_windows("characters", sequence, {.times = times, .rows = windows})
                        .with_windows("next", sequence, 1);
  if (options.streams == 0) return data;
  const auto of_stream = windows / options.streams;
  return data
      .with_function<float>(
          "begins", {},
          [of_stream](std::int64_t row, std::span<float> to) { to[0] = row % of_stream == 0 ? 1.0F : 0.0F; })
      .in_streams(options.streams);
}

}  // namespace troupe
