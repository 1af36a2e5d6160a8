#include "troupe/ops/pipeline/sources.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/pipeline/with_row_named.hpp"

namespace troupe {

namespace {

constexpr const char* kSourcePlace = "pipeline";

class ArrayRows final : public Transform {
 public:
  ArrayRows(RowFields fields, std::vector<Tensor> arrays)
      : Transform(std::move(fields), 0), arrays_(std::move(arrays)) {}

  bool is_indexed() const override { return true; }
  std::unique_ptr<RowReader> reader(const RowEpoch&) const override { return std::make_unique<Reader>(arrays_); }
  void describe(ByteSequence& to) const override {
    to.add("arrays");
    to.add(arrays_[0].shape()[0]);
  }

 private:
  class Reader final : public RowReader {
   public:
    explicit Reader(const std::vector<Tensor>& arrays) : arrays_(arrays) {
      for (const auto& array : arrays) {
        const auto sizes = array.shape().sizes().subspan(1);
        shapes_.emplace_back(sizes);
        bytes_.push_back(array.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(1, array.shape()[0])));
      }
    }

    std::int64_t size() const override { return arrays_[0].shape()[0]; }
    Row read(std::int64_t index) const override {
      Row row;
      row.values.reserve(arrays_.size());
      for (std::size_t i = 0; i < arrays_.size(); ++i)
        row.values.push_back(arrays_[i].view(shapes_[i], static_cast<std::size_t>(index) * bytes_[i]));
      row.origin.number = index;
      return row;
    }

   private:
    const std::vector<Tensor>& arrays_;
    std::vector<Shape> shapes_;       // by array, the shape of a row
    std::vector<std::size_t> bytes_;  // by array, the bytes of a row
  };

  std::vector<Tensor> arrays_;
};

class FunctionRows final : public Transform {
 public:
  FunctionRows(std::string name, RowFields fields, std::int64_t rows, RowFunction function)
      : Transform(std::move(fields), 0),
        name_(std::make_shared<const std::string>(std::move(name))),
        rows_(rows),
        function_(std::move(function)) {}

  bool is_indexed() const override { return true; }
  std::unique_ptr<RowReader> reader(const RowEpoch&) const override { return std::make_unique<Reader>(*this); }
  void describe(ByteSequence& to) const override {
    to.add("function");
    to.add(*name_);
    to.add(rows_);
  }

 private:
  class Reader final : public RowReader {
   public:
    explicit Reader(const FunctionRows& rows) : rows_(rows) {}
    std::int64_t size() const override { return rows_.rows_; }
    Row read(std::int64_t index) const override {
      Row row{std::vector<Tensor>(rows_.fields().size()), {rows_.name_, index}};
      with_row_named(kSourcePlace, row, [&] {
        RowWriter writer(rows_.fields(), row);
        rows_.function_(index, writer);
        check_row(rows_.fields(), row);
      });
      return row;
    }

   private:
    const FunctionRows& rows_;
  };

  std::shared_ptr<const std::string> name_;
  std::int64_t rows_;
  RowFunction function_;
};

class StreamRows final : public Transform {
 public:
  StreamRows(std::string name, RowFields fields, OpenRows open)
      : Transform(std::move(fields), 0), name_(std::move(name)), open_(std::move(open)) {}

  bool is_indexed() const override { return false; }
  std::unique_ptr<RowStream> open(const RowEpoch& epoch) const override {
    auto rows = open_(epoch);
    if (rows == nullptr) throw Error(kSourcePlace, "'" + name_ + "' has opened no stream");
    return std::make_unique<Checked>(fields(), std::move(rows));
  }
  void describe(ByteSequence& to) const override {
    to.add("streams");
    to.add(name_);
  }

 private:
  /// A user's stream whose rows are checked.
  class Checked final : public RowStream {
   public:
    Checked(const RowFields& fields, std::unique_ptr<RowStream> rows) : fields_(fields), rows_(std::move(rows)) {}

    bool next(Row& row) override {
      if (!rows_->next(row)) return false;
      with_row_named(kSourcePlace, row, [&] { check_row(fields_, row); });
      return true;
    }
    bool skip(std::int64_t count) override { return rows_->skip(count); }
    void save(Position& position) const override { rows_->save(position); }
    void load(PositionReader& position) override { rows_->load(position); }

   private:
    const RowFields& fields_;
    std::unique_ptr<RowStream> rows_;
  };

  std::string name_;
  OpenRows open_;
};

}  // namespace

TransformPtr rows_of_arrays(const std::vector<std::pair<std::string, Tensor>>& arrays) {
  if (arrays.empty()) throw Error(kSourcePlace, "there is no array");
  RowFields fields;
  std::vector<Tensor> tensors;
  for (const auto& [name, array] : arrays) {
    const auto sizes = array.shape().list();
    if (sizes.empty()) throw Error(kSourcePlace, "the array '" + name + "' has no axis of rows");
    if (sizes[0] != arrays[0].second.shape()[0])
      throw Error(kSourcePlace, "the array '" + name + "' has " + std::to_string(sizes[0]) + " rows, but '" +
                                    arrays[0].first + "' has " + std::to_string(arrays[0].second.shape()[0]));
    fields.push_back({name, array.dtype(), {sizes.begin() + 1, sizes.end()}});
    tensors.push_back(array.copy_to_host());
  }
  return std::make_shared<ArrayRows>(std::move(fields), std::move(tensors));
}

TransformPtr rows_of_function(std::string name, RowFields fields, std::int64_t rows, RowFunction function) {
  if (rows < 0) throw Error(kSourcePlace, "'" + name + "' cannot have " + std::to_string(rows) + " rows");
  return std::make_shared<FunctionRows>(std::move(name), std::move(fields), rows, std::move(function));
}

TransformPtr rows_of_streams(std::string name, RowFields fields, OpenRows open) {
  return std::make_shared<StreamRows>(std::move(name), std::move(fields), std::move(open));
}

}  // namespace troupe
