// Trains vectors of words that predict which words are near each other, by skip-gram with negative sampling. Workers
// look up the rows of the words in their batches only, and send gradients of these rows only. Source: Mikolov and
// others, "Distributed representations of words and phrases and their compositionality" (NIPS 2013).
//
//   bible -f 'gen1:1-rev22:21' >bible.txt && word_vectors --text bible.txt --strategy parameter_server --workers 2

#include <cctype>
#include <map>
#include <memory>

#include "troupe/examples/text_training.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/nn/sequence.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/parameter_server.hpp"

using namespace troupe;

namespace {

constexpr std::int64_t kWindow = 5;

struct Flags {
  std::string text, strategy = "parameter_server", rows = "sparse", optimizer = "adagrad", partition = "none";
  std::int64_t epochs = 1, steps = 0, batch = 512, units = 64, negatives = 5, least = 3;
  double rate = 0.0;
  int servers = 1;
  std::uint64_t seed = 1;
  examples::DeviceFlags workers;
};

std::optional<Flags> parse(int argc, char** argv) {
  Flags flags;
  CLI::App app("Learns vectors of the words of a text", "word_vectors");
  app.add_option("--text", flags.text, "a text file, gzipped or plain")->required();
  app.add_option("--strategy", flags.strategy)
      ->check(CLI::IsMember({"one_device", "mirrored", "parameter_server"}))
      ->capture_default_str();
  app.add_option("--rows", flags.rows, "sparse: the rows that a batch reads are updated; dense: all of them")
      ->check(CLI::IsMember({"sparse", "dense"}))
      ->capture_default_str();
  app.add_option("--optimizer", flags.optimizer)
      ->check(CLI::IsMember({"sgd", "adagrad", "adam"}))
      ->capture_default_str();
  app.add_option("--rate", flags.rate, "learning rate (default: the optimizer's usual one)")
      ->check(CLI::PositiveNumber);
  app.add_option("--partition", flags.partition, "none, fixed:SHARDS, min_size:BYTES or max_size:BYTES")
      ->capture_default_str();
  app.add_option("--servers", flags.servers)->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--epochs", flags.epochs)->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--steps", flags.steps, "stop after so many steps (default: all epochs)")->check(CLI::PositiveNumber);
  app.add_option("--batch", flags.batch, "rows of a batch")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--units", flags.units, "length of a vector")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--negatives", flags.negatives, "words that are not near, for each that is")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--least", flags.least, "words that occur less often are left out")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", flags.seed)->capture_default_str();
  flags.workers.declare(app, "--workers");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return std::nullopt;
  }
  return flags;
}

/// The words of a text in lower case, numbered by descending frequency.
struct Words {
  std::vector<std::string> vocabulary;
  std::vector<std::int32_t> text;
  std::vector<double> cumulated;  // sums of the weights by which words are drawn: frequency to the power of 3/4

  Words(const std::string& characters, std::int64_t least) {
    std::vector<std::string> words(1);
    for (const unsigned char c : characters) {
      if (std::isalpha(c) != 0)
        words.back() += static_cast<char>(std::tolower(c));
      else if (!words.back().empty())
        words.emplace_back();
    }
    std::map<std::string, std::int64_t> counts;
    for (const auto& word : words)
      if (!word.empty()) ++counts[word];
    std::erase_if(counts, [&](const auto& entry) { return entry.second < least; });
    for (const auto& entry : counts) vocabulary.push_back(entry.first);
    std::ranges::stable_sort(vocabulary, std::greater<>(), [&](const auto& word) { return counts[word]; });
    std::map<std::string, std::int32_t> numbers;
    for (const auto& word : vocabulary) {
      cumulated.push_back((cumulated.empty() ? 0.0 : cumulated.back()) +
                          std::pow(static_cast<double>(counts[word]), 0.75));
      numbers.emplace(word, static_cast<std::int32_t>(numbers.size()));
    }
    for (const auto& word : words)
      if (const auto number = numbers.find(word); number != numbers.end()) text.push_back(number->second);
    if (text.size() < 2 * kWindow + 1) throw Error("words", "the text is too short");
  }

  std::int32_t drawn(float share) const {
    const auto at = std::ranges::upper_bound(cumulated, static_cast<double>(share) * cumulated.back());
    return static_cast<std::int32_t>(std::min<std::ptrdiff_t>(at - cumulated.begin(), std::ssize(cumulated) - 1));
  }
};

/// One row for each word of the text: the word, a word near it and some drawn words, and labels that tell them apart.
Dataset pairs_of(const std::shared_ptr<const Words>& words, std::int64_t negatives, std::uint64_t seed) {
  const auto count = static_cast<std::int64_t>(words->text.size());
  const auto word = [words](std::int64_t row, std::span<std::int32_t> to) {
    to[0] = words->text[static_cast<std::size_t>(row)];
  };
  const auto others = [=](std::int64_t row, std::span<std::int32_t> to) {
    const auto number = static_cast<std::uint64_t>(row);
    const auto step = static_cast<std::int64_t>(uniform_below(2 * kWindow, seed, 1, number)) - kWindow;
    const auto near = row + (step < 0 ? step : step + 1);
    to[0] = words->text[static_cast<std::size_t>(near < 0 || near >= count ? 2 * row - near : near)];
    for (std::size_t i = 1; i < to.size(); ++i)
      to[i] = words->drawn(uniform(seed, 2, number * static_cast<std::uint64_t>(negatives) + i));
  };
  const auto is_near = [](std::int64_t, std::span<float> to) {
    std::ranges::fill(to, 0.0F);
    to[0] = 1.0F;
  };
  return Dataset::of_rows(count)
      .with_function<std::int32_t>("word", {}, word)
      .with_function<std::int32_t>("others", {1 + negatives}, others)
      .with_function<float>("is_near", {1 + negatives}, is_near);
}

/// The logits for two words being near each other: the product of their vectors.
Model model_of(std::int64_t words, std::int64_t units, bool row_sparse) {
  return [=](const Inputs& in) -> Outputs {
    const auto vectors = [&](const char* name, const char* field) {
      const GraphBuilder::Scope scope(in.builder(), name);
      return Embedding{words, units, Initializer::normal(0.1), row_sparse}(in[field]);
    };
    const auto word = reshape(vectors("words", "word"), {kBatch, 1, units});
    return reduce_sum(mul(word, vectors("contexts", "others")), std::vector<std::int64_t>{2});
  };
}

Optimizer optimizer_of(const Flags& flags) {
  const auto rate = [&](double usual) { return flags.rate > 0.0 ? flags.rate : usual; };
  if (flags.optimizer == "sgd") return Sgd{.lr = rate(5.0)};
  if (flags.optimizer == "adam") return Adam{.lr = rate(0.002)};
  return Adagrad{.lr = rate(0.05)};
}

std::unique_ptr<Strategy> strategy_of(const Flags& flags) {
  const auto workers = places_of(flags.workers.places());
  const bool counted = flags.workers.replicas > 0 || !flags.workers.devices.empty();
  if (flags.strategy == "one_device" && counted && workers.size() > 1) throw Error("one_device", "has one worker");
  if (flags.strategy == "one_device") return std::make_unique<OneDevice>(workers.front().device);
  if (flags.strategy == "mirrored") return std::make_unique<Mirrored>(workers);
  const std::vector<Place> servers(static_cast<std::size_t>(flags.servers));
  const auto rule = ConsistencyRule::synchronous(static_cast<int>(workers.size()));
  const ServerOptions options{.sharding = {partitioner_of(flags.partition, flags.servers), Placement::fewest_elements}};
  return std::make_unique<ParameterServer>(workers, servers, rule, options);
}

void train(const Flags& flags) {
  const auto words = std::make_shared<const Words>(read_text(flags.text), flags.least);
  const auto data = pairs_of(words, flags.negatives, flags.seed);
  const auto runtime = flags.workers.make_runtime();
  const auto strategy = strategy_of(flags);
  const auto model = model_of(static_cast<std::int64_t>(words->vocabulary.size()), flags.units, flags.rows == "sparse");
  Trainer trainer(runtime, *strategy, model, optimizer_of(flags), BinaryCrossEntropy{.target = "is_near"},
                  {.seed = flags.seed});
  std::printf("%zu words, %lld in the text\n", words->vocabulary.size(), static_cast<long long>(data.rows()));
  FitOptions options{.epochs = flags.epochs, .on_epoch = [&](const EpochMetrics& epoch) {
                       std::printf("loss %.5f  %.0f words/s\n", epoch.training.loss,
                                   static_cast<double>(epoch.training.rows) / epoch.seconds);
                       std::fflush(stdout);
                     }};
  if (flags.steps > 0) options.max_steps = flags.steps;
  trainer.fit(data.shuffle(data.rows()).batch(flags.batch), options);
  std::printf("parameters %s\n", trainer.parameters().hash(0).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return examples::guarded("word_vectors", [&] {
    if (const auto flags = parse(argc, argv)) train(*flags);
    return 0;
  });
}
