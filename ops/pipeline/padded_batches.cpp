#include <algorithm>
#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/pipeline/batched_rows.hpp"
#include "troupe/ops/pipeline/held_rows.hpp"
#include "troupe/ops/pipeline/row_memory.hpp"

namespace troupe {

namespace {

constexpr const char* kPaddedPlace = "padded_batch";

bool is_padded(const RowField& field) {
  return !field.sizes.empty() && field.sizes[0] == RowField::kVaries;
}

/// The fields of the batches. With one bucket, all padded rows have one length.
RowFields padded_fields(const RowFields& fields, const PaddedBatches& options) {
  auto batched = fields;
  for (auto& field : batched) {
    if (is_padded(field) && options.lengths.size() == 1) field.sizes[0] = options.lengths[0];
    field.sizes.insert(field.sizes.begin(), options.drop_last ? options.rows : RowField::kVaries);
  }
  return batched;
}

std::size_t length_field(const RowFields& fields, const PaddedBatches& options) {
  if (!options.length_of.empty()) {
    const auto field = index_of(fields, options.length_of);
    if (fields[field].sizes.empty())
      throw Error(kPaddedPlace, "the field " + to_string(fields[field]) + " has no length");
    return field;
  }
  const auto first = std::ranges::find_if(fields, is_padded);
  if (first == fields.end()) throw Error(kPaddedPlace, "all rows have the same sizes: use batch()");
  return static_cast<std::size_t>(first - fields.begin());
}

class Padded final : public Transform {
 public:
  Padded(TransformPtr input, PaddedBatches options)
      : Transform(padded_fields(input->fields(), options), input->number() + 1, options.rows),
        input_(std::move(input)),
        options_(std::move(options)),
        length_field_(length_field(input_->fields(), options_)) {
    for (const auto& field : input_->fields()) {
      const auto padding = options_.padding.find(field.name);
      padding_.push_back(padding == options_.padding.end() ? 0.0 : padding->second);
    }
  }

  bool is_indexed() const override { return false; }
  std::unique_ptr<RowStream> open(const RowEpoch& epoch) const override {
    return std::make_unique<Stream>(*this, input_->open(epoch));
  }
  void describe(ByteSequence& to) const override {
    to.add(kPaddedPlace);
    to.add(options_.rows);
    to.add(options_.drop_last);
    to.add(static_cast<std::int64_t>(length_field_));
    to.add(static_cast<std::int64_t>(options_.lengths.size()));
    for (const auto length : options_.lengths) to.add(length);
    for (const auto padding : padding_) to.add(padding);
    input_->describe(to);
  }

 private:
  struct Held {
    std::int64_t number;
    Row row;
  };

  /// The bucket of a row; 0 without bounds.
  std::size_t bucket_of(const Row& row) const {
    const auto& lengths = options_.lengths;
    if (lengths.empty()) return 0;
    const auto length = row.values[length_field_].shape()[0];
    const auto bound = std::ranges::lower_bound(lengths, length);
    if (bound == lengths.end())
      throw Error(kPaddedPlace, to_string(row.origin) + " has the length " + std::to_string(length) +
                                    ", and the longest bucket " + std::to_string(lengths.back()) +
                                    ": add a bucket, or drop or cut such rows before");
    return static_cast<std::size_t>(bound - lengths.begin());
  }

  Row batch_of(const std::vector<Held>& rows, std::size_t bucket) const {
    Row batch{{}, rows.front().row.origin};
    for (std::size_t i = 0; i < input_->fields().size(); ++i) {
      std::vector<Tensor> values;
      for (const auto& held : rows) values.push_back(held.row.values[i]);
      batch.values.push_back(stacked(values, padded_shape(i, values, bucket), input_->fields()[i].dtype, padding_[i]));
    }
    return batch;
  }

  /// The shape of field i of a row of a batch.
  Shape padded_shape(std::size_t i, const std::vector<Tensor>& values, std::size_t bucket) const {
    const auto& shape = values.front().shape();
    if (!is_padded(input_->fields()[i])) return shape;
    std::int64_t longest = 0;
    for (const auto& value : values) longest = std::max(longest, value.shape()[0]);
    if (options_.lengths.empty()) return shape.with_first(longest);
    if (longest > options_.lengths[bucket])
      throw Error(kPaddedPlace, "the field " + to_string(input_->fields()[i]) + " has the length " +
                                    std::to_string(longest) + " in a bucket of " +
                                    std::to_string(options_.lengths[bucket]));
    return shape.with_first(options_.lengths[bucket]);
  }

  class Stream final : public RowStream {
   public:
    Stream(const Padded& padded, std::unique_ptr<RowStream> input)
        : padded_(padded), input_(std::move(input)), buckets_(padded.buckets()) {}

    bool next(Row& row) override {
      Row of_batch;
      while (!ended_) {
        if (!input_.next(of_batch)) {
          ended_ = true;
          break;
        }
        const auto bucket = hold({input_.pulled() - 1, std::move(of_batch)});
        if (std::cmp_equal(buckets_[bucket].size(), padded_.options_.rows)) {
          take(bucket, row);
          return true;
        }
      }
      if (padded_.options_.drop_last) return false;
      for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
        if (!buckets_[bucket].empty()) {
          take(bucket, row);
          return true;
        }
      return false;
    }

    // The number of held rows, their numbers and the position of the input.
    void save(Position& position) const override {
      std::vector<std::int64_t> numbers;
      for (const auto& bucket : buckets_)
        for (const auto& held : bucket) numbers.push_back(held.number);
      position.push_back(static_cast<std::int64_t>(numbers.size()));
      position.insert(position.end(), numbers.begin(), numbers.end());
      input_.save(position);
    }
    void load(PositionReader& position) override {
      std::vector<std::int64_t> numbers;
      for (auto count = position.take(0); count > 0; --count) numbers.push_back(position.take(0));
      std::ranges::sort(numbers);
      buckets_.assign(padded_.buckets(), {});
      ended_ = false;
      std::size_t restored = 0;
      input_.load(position, [&](std::int64_t number, Row& row) {
        if (!std::ranges::binary_search(numbers, number)) return false;
        ++restored;
        hold({number, std::move(row)});
        return true;
      });
      const auto is_full = [&](const auto& bucket) {
        return std::cmp_greater_equal(bucket.size(), padded_.options_.rows);
      };
      if (restored != numbers.size() || std::ranges::any_of(buckets_, is_full))
        throw Error(kPaddedPlace, "the position does not belong to this pipeline");
    }

   private:
    /// Adds a row to its bucket, which is returned.
    std::size_t hold(Held held) {
      const auto bucket = padded_.bucket_of(held.row);
      held.row = packed(std::move(held.row));
      buckets_[bucket].push_back(std::move(held));
      return bucket;
    }
    void take(std::size_t bucket, Row& row) {
      row = padded_.batch_of(buckets_[bucket], bucket);
      for (const auto& held : buckets_[bucket]) input_.release(held.number);
      buckets_[bucket].clear();
    }

    const Padded& padded_;
    HeldRows input_;
    std::vector<std::vector<Held>> buckets_;
    bool ended_ = false;
  };

  std::size_t buckets() const { return std::max<std::size_t>(1, options_.lengths.size()); }

  TransformPtr input_;
  PaddedBatches options_;
  std::size_t length_field_;
  std::vector<double> padding_;  // by field
};

void check(const RowFields& fields, const PaddedBatches& options) {
  if (options.rows < 1) throw Error(kPaddedPlace, "a batch cannot have " + std::to_string(options.rows) + " rows");
  for (std::size_t i = 0; i < options.lengths.size(); ++i)
    if (options.lengths[i] <= (i == 0 ? 0 : options.lengths[i - 1]))
      throw Error(kPaddedPlace, "the lengths of buckets must be positive and ascending");
  for (const auto& [name, number] : options.padding) check_padding(fields[index_of(fields, name)].dtype, number);
  for (const auto& field : fields)
    for (std::size_t axis = 1; axis < field.sizes.size(); ++axis)
      if (field.sizes[axis] == RowField::kVaries)
        throw Error(kPaddedPlace,
                    "only the first axis of a field is padded, but another axis varies: " + to_string(field));
}

}  // namespace

TransformPtr padded_batches(TransformPtr input, PaddedBatches options) {
  check(input->fields(), options);
  return std::make_shared<Padded>(std::move(input), std::move(options));
}

}  // namespace troupe
