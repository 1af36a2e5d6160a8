// A character-level GPT: 4 layers, 4 heads, width 128, context 128, on any text.
//
//   bible -f 'gen1:1-rev22:21' >bible.txt && char_gpt --text bible.txt

#include "troupe/examples/text_models.hpp"
#include "troupe/examples/text_training.hpp"

using namespace troupe;

int main(int argc, char** argv) {
  return examples::guarded("char_gpt", [&] {
    auto flags = examples::parse_text_flags("char_gpt", "Trains a character-level GPT", 16, argc, argv);
    if (!flags) return 0;
    const auto text = read_text(flags->text);
    const Characters characters(text);
    // The windows in an order that every framework can reproduce: a stride that visits all of them.
    const auto codes = characters.encode(text);
    const auto windows = (codes.elements() - 1) / examples::kTimes;
    const auto window = [codes, windows](std::int64_t shift) {
      return [=](std::int64_t row, std::span<std::int32_t> to) {
        const auto first = row * 7919 % windows * examples::kTimes + shift;
        std::copy_n(codes.data<std::int32_t>().begin() + first, to.size(), to.begin());
      };
    };
    const auto data = Dataset::of_rows(windows)
                          .with_function<std::int32_t>("characters", {examples::kTimes}, window(0))
                          .with_function<std::int32_t>("next", {examples::kTimes}, window(1))
                          .batch(flags->batch);
    const auto model = examples::gpt(characters.size());
    examples::train_on_text(*flags, model, AdamW{.lr = 1e-3}, data, characters);
    return 0;
  });
}
