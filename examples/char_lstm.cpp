// An LSTM on characters whose state is carried from batch to batch: every row reads on in its own part of the text.
//
//   bible -f 'gen1:1-rev22:21' >bible.txt && char_lstm --text bible.txt

#include "troupe/examples/text_training.hpp"
#include "troupe/ops/nn/sequence.hpp"

using namespace troupe;

namespace {

/// The layers of examples::lstm_model, with states that are carried over `rows` rows.
Model carried_lstm(std::int64_t characters, std::int64_t rows) {
  return [=](const Inputs& in) -> Outputs {
    const auto layer = [&](const char* name, const auto& function, Value x) {
      const GraphBuilder::Scope scope(in.builder(), name);
      return function(x);
    };
    const auto x = layer("embedding", Embedding{characters, 128}, in["characters"]);
    const CarriedState carried{.rows = rows, .begins = in.has("begins") ? in["begins"] : Value()};
    const auto y = layer("lstm", Lstm{.units = 256, .carried = carried}, x);
    return layer("dense", Dense{characters}, y);
  };
}

}  // namespace

int main(int argc, char** argv) {
  return examples::guarded("char_lstm", [&] {
    auto flags = examples::parse_text_flags("char_lstm", "Trains an LSTM on characters", 32, argc, argv);
    if (!flags) return 0;
    const auto text = read_text(flags->text);
    const Characters characters(text);
    // The field "begins" marks the rows where a stream begins.
    const auto data = windows_of(characters.encode(text), examples::kTimes, {.streams = flags->batch});
    const auto model = carried_lstm(characters.size(), flags->batch);
    examples::train_on_text(*flags, model, Adam{.lr = 2e-3, .clip_norm = 1.0}, data, characters);
    return 0;
  });
}
