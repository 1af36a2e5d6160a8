#include "troupe/ops/pipeline/map_rows.hpp"

#include <exception>
#include <utility>

#include "troupe/ops/pipeline/mapped_stream.hpp"
#include "troupe/ops/pipeline/with_row_named.hpp"

namespace troupe {

namespace {

/// A transform that makes a group of rows of each row of its input. `kind` is its name in errors.
class Mapped : public Transform {
 public:
  Mapped(const char* kind, TransformPtr input, RowFields fields, std::int64_t batch_rows, MapOptions options)
      : Transform(std::move(fields), input->number() + 1, batch_rows),
        kind_(kind),
        input_(std::move(input)),
        options_(std::move(options)) {}

  bool is_indexed() const override { return false; }
  std::unique_ptr<RowStream> open(const RowEpoch& epoch) const override {
    const auto group = [this, epoch](const Row& row, std::int64_t number) { return group_or_none(row, epoch, number); };
    return std::make_unique<MappedStream>(input_->open(epoch), group, options_.serial ? nullptr : epoch.executor,
                                          input_->rows_of_job());
  }
  void describe(ByteSequence& to) const override {
    to.add(kind_);
    to.add(to_string(fields()));
    to.add(static_cast<std::int64_t>(options_.on_error));
    input_->describe(to);
  }

 protected:
  /// The rows that the function makes of a row, whose number in the input is `number`.
  virtual RowGroup group_of(const Row& row, const RowEpoch& epoch, std::int64_t number) const = 0;
  const Transform& input() const { return *input_; }
  const char* kind() const { return kind_; }
  bool keeps_numbers() const { return !options_.serial && options_.on_error == UnreadableRows::stop; }

 private:
  RowGroup group_or_none(const Row& row, const RowEpoch& epoch, std::int64_t number) const {
    if (options_.on_error == UnreadableRows::stop) return group_of(row, epoch, number);
    try {
      return group_of(row, epoch, number);
    } catch (const std::exception&) {
      if (options_.skipped != nullptr) ++*options_.skipped;
      return {};
    }
  }

  const char* kind_;
  TransformPtr input_;
  MapOptions options_;
};

class Map final : public Mapped {
 public:
  Map(const TransformPtr& input, RowFields fields, MapFunction function, MapOptions options)
      : Mapped("map", input, std::move(fields), input->batch_rows(), std::move(options)),
        function_(std::move(function)) {
    for (std::size_t i = 0; i < this->fields().size(); ++i)
      for (std::size_t k = 0; k < input->fields().size(); ++k)
        if (input->fields()[k].name == this->fields()[i].name) same_name_.emplace_back(i, k);
  }

  bool is_indexed() const override { return input().is_indexed() && keeps_numbers(); }
  std::unique_ptr<RowReader> reader(const RowEpoch& epoch) const override {
    return is_indexed() ? std::make_unique<Reader>(*this, epoch) : Mapped::reader(epoch);
  }
  std::unique_ptr<RowStream> open(const RowEpoch& epoch) const override {
    return is_indexed() ? Transform::open(epoch) : Mapped::open(epoch);
  }

 private:
  class Reader final : public RowReader {
   public:
    Reader(const Map& map, const RowEpoch& epoch) : map_(map), epoch_(epoch), input_(map.input().reader(epoch)) {}
    std::int64_t size() const override { return input_->size(); }
    Row read(std::int64_t index) const override { return map_.mapped(input_->read(index), epoch_, index); }
    void read_range(std::int64_t first, std::int64_t count, std::vector<Row>& rows) const override {
      std::vector<Row> in;
      std::exception_ptr error;
      try {
        input_->read_range(first, count, in);
      } catch (...) {
        error = std::current_exception();
      }
      for (std::size_t i = 0; i < in.size(); ++i)
        rows.push_back(map_.mapped(in[i], epoch_, first + static_cast<std::int64_t>(i)));
      if (error != nullptr) std::rethrow_exception(error);
    }

   private:
    const Map& map_;
    RowEpoch epoch_;
    std::unique_ptr<RowReader> input_;
  };

  Row mapped(const Row& in, const RowEpoch& epoch, std::int64_t number) const {
    return with_row_named(kind(), in, [&] {
      Row out{std::vector<Tensor>(fields().size()), in.origin};
      RowWriter writer(fields(), out);
      RowRandom random(epoch, this->number(), number);
      function_(RowView(input().fields(), in), writer, random);
      for (const auto& [to, from] : same_name_)
        if (!out.values[to]) out.values[to] = in.values[from];
      check_row(fields(), out);
      return out;
    });
  }
  RowGroup group_of(const Row& row, const RowEpoch& epoch, std::int64_t number) const override {
    RowGroup group;
    group.push_back(mapped(row, epoch, number));
    return group;
  }

  MapFunction function_;
  std::vector<std::pair<std::size_t, std::size_t>> same_name_;  // indices of an output field and of an input field
};

class Filter final : public Mapped {
 public:
  Filter(const TransformPtr& input, FilterFunction function, MapOptions options)
      : Mapped("filter", input, input->fields(), input->batch_rows(), std::move(options)),
        function_(std::move(function)) {}

 private:
  RowGroup group_of(const Row& row, const RowEpoch& epoch, std::int64_t number) const override {
    RowRandom random(epoch, this->number(), number);
    const RowView view(fields(), row);
    if (!with_row_named(kind(), row, [&] { return function_(view, random); })) return {};
    return {row};
  }

  FilterFunction function_;
};

class FlatMap final : public Mapped {
 public:
  FlatMap(const char* kind, TransformPtr input, RowFields fields, FlatMapFunction function, MapOptions options)
      : Mapped(kind, std::move(input), std::move(fields), 0, std::move(options)), function_(std::move(function)) {}

 private:
  RowGroup group_of(const Row& row, const RowEpoch& epoch, std::int64_t number) const override {
    return with_row_named(kind(), row, [&] {
      RowSink sink(fields(), row.origin);
      RowRandom random(epoch, this->number(), number);
      function_(RowView(input().fields(), row), sink, random);
      for (const auto& one : sink.rows()) check_row(fields(), one);
      return std::move(sink.rows());
    });
  }

  FlatMapFunction function_;
};

}  // namespace

TransformPtr map_rows(const TransformPtr& input, RowFields fields, MapFunction function, MapOptions options) {
  return std::make_shared<Map>(input, std::move(fields), std::move(function), std::move(options));
}

TransformPtr filter_rows(const TransformPtr& input, FilterFunction function, MapOptions options) {
  return std::make_shared<Filter>(input, std::move(function), std::move(options));
}

TransformPtr flat_map_rows(TransformPtr input, RowFields fields, FlatMapFunction function, MapOptions options,
                           const char* kind) {
  return std::make_shared<FlatMap>(kind, std::move(input), std::move(fields), std::move(function), std::move(options));
}

}  // namespace troupe
