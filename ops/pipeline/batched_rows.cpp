#include "troupe/ops/pipeline/batched_rows.hpp"

#include <algorithm>
#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/pipeline/map_rows.hpp"

namespace troupe {

namespace {

RowFields with_axis(const RowFields& fields, std::int64_t size) {
  auto batched = fields;
  for (auto& field : batched) field.sizes.insert(field.sizes.begin(), size);
  return batched;
}

/// The batch of the rows, which must not be empty.
Row batch_of(const RowFields& fields, const std::vector<Row>& rows) {
  Row batch{{}, rows.front().origin};
  std::vector<Tensor> values(rows.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    for (std::size_t k = 0; k < rows.size(); ++k) values[k] = rows[k].values[i];
    batch.values.push_back(stacked(values, values[0].shape(), fields[i].dtype));
  }
  return batch;
}

class Batched final : public Transform {
 public:
  Batched(TransformPtr input, std::int64_t rows, bool drop_last)
      : Transform(with_axis(input->fields(), drop_last ? rows : RowField::kVaries), input->number() + 1, rows),
        input_(std::move(input)),
        rows_(rows),
        drop_last_(drop_last) {}

  bool is_indexed() const override { return input_->is_indexed(); }
  std::unique_ptr<RowReader> reader(const RowEpoch& epoch) const override {
    return std::make_unique<Reader>(*this, input_->reader(epoch));
  }
  std::unique_ptr<RowStream> open(const RowEpoch& epoch) const override {
    return is_indexed() ? Transform::open(epoch) : std::make_unique<Stream>(*this, input_->open(epoch));
  }
  void describe(ByteSequence& to) const override {
    to.add("batch");
    to.add(rows_);
    to.add(drop_last_);
    input_->describe(to);
  }

 private:
  class Reader final : public RowReader {
   public:
    Reader(const Batched& batched, std::unique_ptr<RowReader> input) : batched_(batched), input_(std::move(input)) {}
    std::int64_t size() const override {
      const auto whole = input_->size() / batched_.rows_;
      return batched_.drop_last_ || input_->size() % batched_.rows_ == 0 ? whole : whole + 1;
    }
    Row read(std::int64_t index) const override {
      const auto first = index * batched_.rows_, end = std::min(input_->size(), first + batched_.rows_);
      std::vector<Row> rows;
      rows.reserve(static_cast<std::size_t>(end - first));
      input_->read_range(first, end - first, rows);
      return batch_of(batched_.input_->fields(), rows);
    }

   private:
    const Batched& batched_;
    std::unique_ptr<RowReader> input_;
  };

  class Stream final : public RowStream {
   public:
    Stream(const Batched& batched, std::unique_ptr<RowStream> input) : batched_(batched), input_(std::move(input)) {}

    bool next(Row& row) override {
      std::vector<Row> rows;
      Row of_batch;
      while (std::cmp_less(rows.size(), batched_.rows_) && input_->next(of_batch)) rows.push_back(std::move(of_batch));
      if (rows.empty() || (batched_.drop_last_ && std::cmp_less(rows.size(), batched_.rows_))) return false;
      row = batch_of(batched_.input_->fields(), rows);
      return true;
    }
    void save(Position& position) const override { input_->save(position); }
    void load(PositionReader& position) override { input_->load(position); }

   private:
    const Batched& batched_;
    std::unique_ptr<RowStream> input_;
  };

  TransformPtr input_;
  std::int64_t rows_;
  bool drop_last_;
};

}  // namespace

TransformPtr batched_rows(TransformPtr input, std::int64_t rows, bool drop_last) {
  for (const auto& field : input->fields())
    if (field.sizes.size() == Shape::kMaxRank)
      throw Error("batch", "a batch of " + to_string(field) + " would have too many axes");
  if (rows < 1) throw Error("batch", "a batch cannot have " + std::to_string(rows) + " rows");
  for (const auto& field : input->fields())
    if (std::ranges::find(field.sizes, RowField::kVaries) != field.sizes.end())
      throw Error("batch", "rows of different sizes make no batch: " + to_string(field) +
                               "; use padded_batch(), or a map() to one size");
  return std::make_shared<Batched>(std::move(input), rows, drop_last);
}

TransformPtr unbatched_rows(TransformPtr input) {
  auto fields = input->fields();
  for (auto& field : fields) {
    if (field.sizes.empty()) throw Error("unbatch", "the field " + to_string(field) + " has no rows");
    field.sizes.erase(field.sizes.begin());
  }
  const auto split = [](const RowView& in, RowSink& out, RowRandom&) {
    const auto& values = in.row().values;
    const auto rows = values[0].shape()[0];
    for (const auto& value : values)
      if (value.shape()[0] != rows)
        throw Error("unbatch",
                    "the fields have " + std::to_string(rows) + " and " + std::to_string(value.shape()[0]) + " rows");
    for (std::int64_t i = 0; i < rows; ++i) {
      out.add();
      for (std::size_t k = 0; k < values.size(); ++k) {
        const auto one = values[k].rows(i, 1);
        out.rows().back().values[k] = one.view(Shape(one.shape().sizes().subspan(1)));
      }
    }
  };
  return flat_map_rows(std::move(input), std::move(fields), split, {}, "unbatch");
}

}  // namespace troupe
