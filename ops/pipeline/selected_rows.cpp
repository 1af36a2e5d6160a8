#include "troupe/ops/pipeline/selected_rows.hpp"

#include <cmath>
#include <numeric>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/keyed_permutation.hpp"

namespace troupe {

namespace {

/// A rule for the rows of an input: their number, and the number in the input of each of them. Thread-safe.
class Selection {
 public:
  virtual ~Selection() = default;
  virtual std::int64_t size() const = 0;
  virtual std::int64_t row_at(std::int64_t index) const = 0;
};

class Subset final : public Selection {
 public:
  explicit Subset(const std::vector<std::int64_t>& numbers) : numbers_(numbers) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(numbers_.size()); }
  std::int64_t row_at(std::int64_t index) const override { return numbers_[static_cast<std::size_t>(index)]; }

 private:
  const std::vector<std::int64_t>& numbers_;
};

class Shuffled final : public Selection {
 public:
  Shuffled(std::int64_t rows, const RowEpoch& epoch, std::int64_t transform)
      : rows_(rows),
        permutation_(static_cast<std::uint64_t>(std::max<std::int64_t>(1, rows)), RowRandom::seed_of(epoch, transform),
                     0) {}
  std::int64_t size() const override { return rows_; }
  std::int64_t row_at(std::int64_t index) const override {
    return static_cast<std::int64_t>(permutation_(static_cast<std::uint64_t>(index)));
  }

 private:
  std::int64_t rows_;
  KeyedPermutation permutation_;
};

/// A table from which a number is drawn in constant time: entry i gives i with probability `own`, else `other`.
struct Alias {
  double own;
  std::int64_t other;
};

std::vector<Alias> aliases_of(std::span<const double> weights) {
  const auto count = static_cast<std::int64_t>(weights.size());
  const auto sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<Alias> aliases;
  std::vector<std::int64_t> small, large;  // entries that have less than their share of the table, or more
  for (std::int64_t i = 0; i < count; ++i) {
    aliases.push_back({weights[static_cast<std::size_t>(i)] / sum * static_cast<double>(count), i});
    (aliases.back().own < 1.0 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const auto taker = small.back(), giver = large.back();
    auto& from = aliases[static_cast<std::size_t>(giver)];
    small.pop_back();
    aliases[static_cast<std::size_t>(taker)].other = giver;
    from.own -= 1.0 - aliases[static_cast<std::size_t>(taker)].own;
    if (from.own >= 1.0) continue;
    large.pop_back();
    small.push_back(giver);
  }
  return aliases;
}

class Sampled final : public Selection {
 public:
  Sampled(const std::vector<Alias>& aliases, std::int64_t rows, const RowEpoch& epoch, std::int64_t transform)
      : aliases_(aliases), rows_(rows), epoch_(epoch), transform_(transform) {}
  std::int64_t size() const override { return rows_; }
  std::int64_t row_at(std::int64_t index) const override {
    RowRandom random(epoch_, transform_, index);
    const auto entry = random.below(static_cast<std::int64_t>(aliases_.size()));
    const auto& alias = aliases_[static_cast<std::size_t>(entry)];
    return static_cast<double>(random.uniform()) < alias.own ? entry : alias.other;
  }

 private:
  const std::vector<Alias>& aliases_;
  std::int64_t rows_;
  RowEpoch epoch_;
  std::int64_t transform_;
};

class Selected : public Transform {
 public:
  explicit Selected(TransformPtr input) : Transform(input->fields(), *input), input_(std::move(input)) {
    rows_ = input_->reader({})->size();
  }

  bool is_indexed() const override { return true; }
  std::unique_ptr<RowReader> reader(const RowEpoch& epoch) const override {
    return std::make_unique<Reader>(input_->reader(epoch), selection(epoch));
  }

 protected:
  virtual std::unique_ptr<Selection> selection(const RowEpoch& epoch) const = 0;
  const Transform& input() const { return *input_; }
  std::int64_t input_rows() const { return rows_; }

 private:
  class Reader final : public RowReader {
   public:
    Reader(std::unique_ptr<RowReader> input, std::unique_ptr<Selection> selection)
        : input_(std::move(input)), selection_(std::move(selection)) {}
    std::int64_t size() const override { return selection_->size(); }
    Row read(std::int64_t index) const override { return input_->read(selection_->row_at(index)); }

   private:
    std::unique_ptr<RowReader> input_;
    std::unique_ptr<Selection> selection_;
  };

  TransformPtr input_;
  std::int64_t rows_ = 0;
};

class SubsetRows final : public Selected {
 public:
  SubsetRows(TransformPtr input, std::vector<std::int64_t> numbers)
      : Selected(std::move(input)), numbers_(std::move(numbers)) {
    for (const auto number : numbers_)
      if (number < 0 || number >= input_rows())
        throw Error("pipeline", "there is no row " + std::to_string(number) + " of " + std::to_string(input_rows()));
  }
  void describe(ByteSequence& to) const override {
    to.add("subset");
    to.add(static_cast<std::int64_t>(numbers_.size()));
    to.add_bytes(numbers_.data(), numbers_.size() * sizeof(std::int64_t));
    input().describe(to);
  }

 private:
  std::unique_ptr<Selection> selection(const RowEpoch&) const override { return std::make_unique<Subset>(numbers_); }

  std::vector<std::int64_t> numbers_;
};

class ShuffledRows final : public Selected {
 public:
  using Selected::Selected;
  void describe(ByteSequence& to) const override {
    to.add("shuffle");
    input().describe(to);
  }

 private:
  std::unique_ptr<Selection> selection(const RowEpoch& epoch) const override {
    return std::make_unique<Shuffled>(input_rows(), epoch, number());
  }
};

class SampledRows final : public Selected {
 public:
  SampledRows(TransformPtr input, std::span<const double> weights, std::int64_t rows)
      : Selected(std::move(input)), rows_(rows) {
    if (rows < 0) throw Error("pipeline", "a number of rows must not be negative");
    if (static_cast<std::int64_t>(weights.size()) != input_rows())
      throw Error("pipeline",
                  std::to_string(weights.size()) + " weights do not fit " + std::to_string(input_rows()) + " rows");
    for (const auto weight : weights)
      if (!(weight >= 0.0 && std::isfinite(weight)))
        throw Error("pipeline",
                    std::to_string(weight) + " is not the weight of a row: use finite numbers of at least 0");
    const auto sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (sum == 0.0) throw Error("pipeline", "all weights are 0, so that no row can be drawn");
    if (!std::isfinite(sum)) throw Error("pipeline", "the sum of the weights is too large");
    aliases_ = aliases_of(weights);
  }
  void describe(ByteSequence& to) const override {
    to.add("sample");
    to.add(rows_);
    for (const auto& alias : aliases_) to.add(alias.own);
    input().describe(to);
  }

 private:
  std::unique_ptr<Selection> selection(const RowEpoch& epoch) const override {
    return std::make_unique<Sampled>(aliases_, rows_, epoch, number());
  }

  std::vector<Alias> aliases_;
  std::int64_t rows_;
};

}  // namespace

TransformPtr subset_of_rows(TransformPtr input, std::vector<std::int64_t> numbers) {
  return std::make_shared<SubsetRows>(std::move(input), std::move(numbers));
}

TransformPtr shuffled_rows(TransformPtr input) {
  return std::make_shared<ShuffledRows>(std::move(input));
}

TransformPtr sampled_rows(TransformPtr input, std::span<const double> weights, std::int64_t rows) {
  return std::make_shared<SampledRows>(std::move(input), weights, rows);
}

}  // namespace troupe
