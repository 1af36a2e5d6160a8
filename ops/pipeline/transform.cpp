#include "troupe/ops/pipeline/transform.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/pipeline/parallel_rows.hpp"

namespace troupe {

namespace {

/// The rows of a reader in order. The position is the number of rows that have been read.
class RowsInOrder final : public RowStream {
 public:
  /// `rows_of_job` rows are read by one job.
  RowsInOrder(std::unique_ptr<RowReader> reader, RowExecutor* executor, std::int64_t rows_of_job)
      : reader_(std::move(reader)), rows_of_job_(rows_of_job), rows_(executor, [this] { return next_job(); }) {}

  bool next(Row& row) override {
    RowGroup group;
    if (!rows_.next(group)) return false;
    row = std::move(group.front());
    ++given_;
    return true;
  }
  bool skip(std::int64_t count) override {
    const auto skipped = std::min(count, reader_->size() - given_);
    go_to(given_ + skipped);
    return skipped == count;
  }
  void save(Position& position) const override { position.push_back(given_); }
  void load(PositionReader& position) override { go_to(position.take(0, reader_->size())); }

 private:
  ParallelRows::Job next_job() {
    const auto first = begun_, end = std::min(reader_->size(), first + rows_of_job_);
    if (first == end) return nullptr;
    begun_ = end;
    return [this, first, end](std::vector<RowGroup>& groups) { read(first, end - first, groups); };
  }
  void read(std::int64_t first, std::int64_t count, std::vector<RowGroup>& groups) const {
    std::vector<Row> rows;
    const auto add_groups = [&] {
      for (auto& row : rows) groups.emplace_back().push_back(std::move(row));
    };
    try {
      reader_->read_range(first, count, rows);
    } catch (...) {
      add_groups();
      throw;
    }
    add_groups();
  }
  void go_to(std::int64_t row) {
    rows_.clear();
    given_ = begun_ = row;
  }

  std::unique_ptr<RowReader> reader_;
  std::int64_t rows_of_job_;
  std::int64_t given_ = 0, begun_ = 0;  // the numbers of rows that next() has returned, and that jobs read
  ParallelRows rows_;
};

}  // namespace

std::unique_ptr<RowReader> Transform::reader(const RowEpoch&) const {
  throw Error("pipeline",
              "these rows are read in order alone, so that they have no numbers: use shuffle() with a "
              "buffer, and put subset() and sample() before transforms that drop, add or group rows");
}

std::unique_ptr<RowStream> Transform::open(const RowEpoch& epoch) const {
  return std::make_unique<RowsInOrder>(reader(epoch), epoch.executor, rows_of_job());
}

}  // namespace troupe
