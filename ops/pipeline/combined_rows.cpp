#include "troupe/ops/pipeline/combined_rows.hpp"

#include <algorithm>
#include <utility>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

std::int64_t number_after(const std::vector<TransformPtr>& inputs) {
  std::int64_t number = 0;
  for (const auto& input : inputs) number = std::max(number, input->number() + 1);
  return number;
}

/// The rows of a batch of which each field comes from another input; 0 if the inputs differ.
std::int64_t batch_rows_of_all(const std::vector<TransformPtr>& inputs) {
  const auto rows = inputs[0]->batch_rows();
  return std::ranges::all_of(inputs, [&](const auto& input) { return input->batch_rows() == rows; }) ? rows : 0;
}

/// The most rows of a batch of any input; 0 if an input has no batches.
std::int64_t most_batch_rows(const std::vector<TransformPtr>& inputs) {
  std::int64_t most = 0;
  for (const auto& input : inputs) {
    if (input->batch_rows() == 0) return 0;
    most = std::max(most, input->batch_rows());
  }
  return most;
}

/// A transform with several inputs.
class Combined : public Transform {
 public:
  Combined(const char* kind, RowFields fields, std::int64_t batch_rows, const std::vector<TransformPtr>& inputs)
      : Transform(std::move(fields), number_after(inputs), batch_rows), kind_(kind), inputs_(inputs) {}

  bool is_indexed() const override {
    return std::ranges::all_of(inputs_, [](const TransformPtr& input) { return input->is_indexed(); });
  }
  void describe(ByteSequence& to) const override {
    to.add(kind_);
    to.add(static_cast<std::int64_t>(inputs_.size()));
    for (const auto& input : inputs_) input->describe(to);
  }

 protected:
  std::vector<std::unique_ptr<RowReader>> readers(const RowEpoch& epoch) const {
    std::vector<std::unique_ptr<RowReader>> readers;
    for (const auto& input : inputs_)
      readers.push_back(input->reader(epoch.of_input(static_cast<std::int64_t>(readers.size()))));
    return readers;
  }
  std::size_t inputs() const { return inputs_.size(); }
  std::unique_ptr<RowStream> open_input(std::size_t input, const RowEpoch& epoch) const {
    return inputs_[input]->open(epoch.of_input(static_cast<std::int64_t>(input)));
  }

 private:
  const char* kind_;
  std::vector<TransformPtr> inputs_;
};

RowFields all_fields(const std::vector<TransformPtr>& inputs) {
  RowFields fields;
  for (const auto& input : inputs) fields.insert(fields.end(), input->fields().begin(), input->fields().end());
  return fields;
}

class Zipped final : public Combined {
 public:
  explicit Zipped(const std::vector<TransformPtr>& inputs)
      : Combined("zip", all_fields(inputs), batch_rows_of_all(inputs), inputs) {}

  std::unique_ptr<RowReader> reader(const RowEpoch& epoch) const override {
    return std::make_unique<Reader>(readers(epoch));
  }
  std::unique_ptr<RowStream> open(const RowEpoch& epoch) const override {
    return is_indexed() ? Transform::open(epoch) : std::make_unique<Stream>(*this, epoch);
  }

 private:
  /// Adds the fields of a part to a row, whose origin is that of the first part.
  static void append(Row part, Row& row) {
    if (row.values.empty()) row.origin = std::move(part.origin);
    row.values.insert(row.values.end(), part.values.begin(), part.values.end());
  }

  class Reader final : public RowReader {
   public:
    explicit Reader(std::vector<std::unique_ptr<RowReader>> inputs) : inputs_(std::move(inputs)) {}
    std::int64_t size() const override {
      auto size = inputs_[0]->size();
      for (const auto& input : inputs_) size = std::min(size, input->size());
      return size;
    }
    Row read(std::int64_t index) const override {
      Row row;
      for (const auto& input : inputs_) append(input->read(index), row);
      return row;
    }

   private:
    std::vector<std::unique_ptr<RowReader>> inputs_;
  };

  class Stream final : public RowStream {
   public:
    Stream(const Zipped& zipped, const RowEpoch& epoch) {
      for (std::size_t i = 0; i < zipped.inputs(); ++i) inputs_.push_back(zipped.open_input(i, epoch));
    }

    bool next(Row& row) override {
      Row zipped;
      for (const auto& input : inputs_) {
        Row part;
        ended_ = ended_ || !input->next(part);
        if (ended_) return false;
        append(std::move(part), zipped);
      }
      row = std::move(zipped);
      return true;
    }
    // At the end the inputs may be one row apart, which makes no difference: one of them has no further row.
    void save(Position& position) const override {
      for (const auto& input : inputs_) input->save(position);
    }
    void load(PositionReader& position) override {
      ended_ = false;
      for (const auto& input : inputs_) input->load(position);
    }

   private:
    std::vector<std::unique_ptr<RowStream>> inputs_;
    bool ended_ = false;
  };
};

class Concatenated final : public Combined {
 public:
  explicit Concatenated(const std::vector<TransformPtr>& inputs)
      : Combined("concatenate", inputs[0]->fields(), most_batch_rows(inputs), inputs) {}

  std::unique_ptr<RowReader> reader(const RowEpoch& epoch) const override {
    return std::make_unique<Reader>(readers(epoch));
  }
  std::unique_ptr<RowStream> open(const RowEpoch& epoch) const override {
    return is_indexed() ? Transform::open(epoch) : std::make_unique<Stream>(*this, epoch);
  }

 private:
  class Reader final : public RowReader {
   public:
    explicit Reader(std::vector<std::unique_ptr<RowReader>> inputs) : inputs_(std::move(inputs)) {
      for (const auto& input : inputs_) ends_.push_back(size() + input->size());
    }
    std::int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
    Row read(std::int64_t index) const override {
      const auto end = std::ranges::upper_bound(ends_, index);
      const auto& input = *inputs_[static_cast<std::size_t>(end - ends_.begin())];
      return input.read(index - (*end - input.size()));
    }

   private:
    std::vector<std::unique_ptr<RowReader>> inputs_;
    std::vector<std::int64_t> ends_;  // by input, the number of the row behind its last
  };

  class Stream final : public RowStream {
   public:
    Stream(const Concatenated& concatenated, const RowEpoch& epoch) : concatenated_(concatenated), epoch_(epoch) {
      open(0);
    }

    bool next(Row& row) override {
      while (!rows_->next(row)) {
        if (input_ + 1 == concatenated_.inputs()) return false;
        open(input_ + 1);
      }
      return true;
    }
    void save(Position& position) const override {
      position.push_back(static_cast<std::int64_t>(input_));
      rows_->save(position);
    }
    void load(PositionReader& position) override {
      open(static_cast<std::size_t>(position.take(0, static_cast<std::int64_t>(concatenated_.inputs()) - 1)));
      rows_->load(position);
    }

   private:
    void open(std::size_t input) {
      input_ = input;
      rows_ = concatenated_.open_input(input, epoch_);
    }

    const Concatenated& concatenated_;
    RowEpoch epoch_;
    std::size_t input_ = 0;  // the input that is read
    std::unique_ptr<RowStream> rows_;
  };
};

void expect_inputs(const char* kind, const std::vector<TransformPtr>& inputs) {
  if (inputs.empty()) throw Error(kind, "there is no pipeline");
}

}  // namespace

TransformPtr zipped_rows(const std::vector<TransformPtr>& inputs) {
  expect_inputs("zip", inputs);
  return std::make_shared<Zipped>(inputs);
}

TransformPtr concatenated_rows(const std::vector<TransformPtr>& inputs) {
  expect_inputs("concatenate", inputs);
  for (const auto& input : inputs)
    if (input->fields() != inputs[0]->fields())
      throw Error("concatenate", "the pipelines have different fields: " + to_string(input->fields()) + ", and " +
                                     to_string(inputs[0]->fields()));
  return std::make_shared<Concatenated>(inputs);
}

}  // namespace troupe
