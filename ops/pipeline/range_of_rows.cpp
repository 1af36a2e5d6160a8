#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/pipeline/selected_rows.hpp"

namespace troupe {

namespace {

/// The number of rows of a range in an input of `rows` rows.
std::int64_t rows_in(const RowSteps& range, std::int64_t rows) {
  if (rows <= range.first) return 0;
  return std::min(range.count, (rows - range.first - 1) / range.step + 1);
}

class Range final : public Transform {
 public:
  Range(TransformPtr input, RowSteps range)
      : Transform(input->fields(), *input), input_(std::move(input)), range_(range) {}

  bool is_indexed() const override { return input_->is_indexed(); }
  std::unique_ptr<RowReader> reader(const RowEpoch& epoch) const override {
    return std::make_unique<Reader>(range_, input_->reader(epoch));
  }
  std::unique_ptr<RowStream> open(const RowEpoch& epoch) const override {
    return is_indexed() ? Transform::open(epoch) : std::make_unique<Stream>(range_, input_->open(epoch));
  }
  void describe(ByteSequence& to) const override {
    to.add("range");
    for (const auto number : {range_.first, range_.step, range_.count}) to.add(number);
    input_->describe(to);
  }

 private:
  class Reader final : public RowReader {
   public:
    Reader(RowSteps range, std::unique_ptr<RowReader> input)
        : range_(range), size_(rows_in(range, input->size())), input_(std::move(input)) {}
    std::int64_t size() const override { return size_; }
    Row read(std::int64_t index) const override { return input_->read(range_.first + index * range_.step); }
    void read_range(std::int64_t first, std::int64_t count, std::vector<Row>& rows) const override {
      if (range_.step == 1) return input_->read_range(range_.first + first, count, rows);
      RowReader::read_range(first, count, rows);
    }

   private:
    RowSteps range_;
    std::int64_t size_;
    std::unique_ptr<RowReader> input_;
  };

  class Stream final : public RowStream {
   public:
    Stream(RowSteps range, std::unique_ptr<RowStream> input) : range_(range), input_(std::move(input)) {}

    bool next(Row& row) override {
      if (given_ == range_.count || !input_->skip(given_ == 0 ? range_.first : range_.step - 1) || !input_->next(row))
        return false;
      ++given_;
      return true;
    }
    void save(Position& position) const override {
      position.push_back(given_);
      input_->save(position);
    }
    void load(PositionReader& position) override {
      given_ = position.take(0, range_.count);
      input_->load(position);
    }

   private:
    RowSteps range_;
    std::unique_ptr<RowStream> input_;
    std::int64_t given_ = 0;  // the number of rows that next() has returned
  };

  TransformPtr input_;
  RowSteps range_;
};

}  // namespace

TransformPtr range_of_rows(TransformPtr input, RowSteps range) {
  if (range.first < 0 || range.count < 0) throw Error("pipeline", "a number of rows must not be negative");
  if (range.step < 1) throw Error("pipeline", "the distance of rows must be at least 1");
  return std::make_shared<Range>(std::move(input), range);
}

}  // namespace troupe
