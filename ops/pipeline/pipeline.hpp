#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "troupe/ops/pipeline/batched_rows.hpp"
#include "troupe/ops/pipeline/combined_rows.hpp"
#include "troupe/ops/pipeline/map_rows.hpp"
#include "troupe/ops/pipeline/sources.hpp"
#include "troupe/ops/pipeline/transform.hpp"

namespace troupe {

/// The rows of one epoch of a pipeline, read one after the other. Used on one thread at a time.
class PipelineReader {
 public:
  PipelineReader(TransformPtr pipeline, RowEpoch epoch);
  PipelineReader(PipelineReader&&) noexcept = default;
  PipelineReader& operator=(PipelineReader&& other) noexcept {
    // The old rows go before the pipeline that they read.
    rows_ = std::move(other.rows_);
    pipeline_ = std::move(other.pipeline_);
    epoch_ = other.epoch_;
    identity_ = other.identity_;
    return *this;
  }
  ~PipelineReader() = default;

  const RowFields& fields() const { return pipeline_->fields(); }
  /// Sets `row` to the next row. Returns false if there is none. After an exception, call seek() before anything else.
  bool next(Row& row) { return rows_->next(row); }
  /// Leaves out the next `count` rows; those of an indexed pipeline are not read. Returns false if there are fewer.
  /// Throws Error if the number is negative, and like next().
  bool skip(std::int64_t count);
  /// The position behind the last row that next() has returned. It holds for every reader of the epoch, with any number
  /// of threads.
  Position position() const;
  /// True if a position belongs to this pipeline, seed and epoch.
  bool fits(const Position& position) const { return !position.empty() && position[0] == identity_; }
  /// Continues at a position of this epoch, which may come from another process. Throws Error if the position belongs
  /// to another pipeline or epoch, and like next(); the reader is then at the beginning.
  void seek(const Position& position);

 private:
  void load(const Position& position);

  TransformPtr pipeline_;
  RowEpoch epoch_;
  std::int64_t identity_;  // the hash of pipeline and epoch, with which every position begins
  std::unique_ptr<RowStream> rows_;
};

/// A chain of transforms that makes the rows, or batches, of a training. A Pipeline is a value: functions such as map()
/// and batch() return a new pipeline that reads this one. Reading is deterministic: the rows are a function of the
/// pipeline, the seed and the epoch. Functions of users must therefore give the same result for the same row and random
/// numbers, on any thread. Rows of an *indexed* pipeline can be read in any order.
class Pipeline {
 public:
  explicit Pipeline(TransformPtr transform) : transform_(std::move(transform)) {}

  /// Row i has element i of each array [N, ...]. Indexed. Throws Error if there is no array or the numbers of rows
  /// differ.
  static Pipeline from_arrays(const std::vector<std::pair<std::string, Tensor>>& arrays) {
    return Pipeline(rows_of_arrays(arrays));
  }
  /// `rows` rows that a function makes. Indexed. Any thread may call the function, several at a time. `name` names the
  /// rows in errors.
  static Pipeline from_function(std::string name, RowFields fields, std::int64_t rows, RowFunction function) {
    return Pipeline(rows_of_function(std::move(name), std::move(fields), rows, std::move(function)));
  }
  /// The rows of a user's streams, one for each epoch, which are read in order alone.
  static Pipeline from_streams(std::string name, RowFields fields, OpenRows open) {
    return Pipeline(rows_of_streams(std::move(name), std::move(fields), std::move(open)));
  }
  /// Row i has the fields of row i of each pipeline. Ends with the shortest. Throws Error if there is no pipeline or
  /// two fields have one name.
  static Pipeline zip(std::span<const Pipeline> pipelines) { return Pipeline(zipped_rows(transforms_of(pipelines))); }
  /// The rows of the pipelines, one pipeline after the other. Throws Error if the fields differ.
  static Pipeline concatenate(std::span<const Pipeline> pipelines) {
    return Pipeline(concatenated_rows(transforms_of(pipelines)));
  }

  const RowFields& fields() const { return transform_->fields(); }
  bool is_indexed() const { return transform_->is_indexed(); }
  /// The largest number of rows of a batch, given by batch() or padded_batch(); 0 if the rows are no batches.
  std::int64_t batch_rows() const { return transform_->batch_rows(); }
  /// The number of rows. Throws Error if the pipeline is not indexed.
  std::int64_t size() const { return transform_->reader({})->size(); }
  const TransformPtr& transform() const { return transform_; }
  /// Begins to read an epoch.
  PipelineReader read(RowEpoch epoch = {}) const { return {transform_, epoch}; }

  /// A row with `fields` for each row, or with the fields of this pipeline; see MapFunction.
  Pipeline map(RowFields fields, MapFunction function, MapOptions options = {}) const {
    return Pipeline(map_rows(transform_, std::move(fields), std::move(function), std::move(options)));
  }
  Pipeline map(MapFunction function, MapOptions options = {}) const {
    return map(fields(), std::move(function), std::move(options));
  }
  /// Any number of rows with `fields` for each row; see FlatMapFunction.
  Pipeline flat_map(RowFields fields, FlatMapFunction function, MapOptions options = {}) const {
    return Pipeline(flat_map_rows(transform_, std::move(fields), std::move(function), std::move(options)));
  }
  /// The rows for which a function is true.
  Pipeline filter(FilterFunction function, MapOptions options = {}) const {
    return Pipeline(filter_rows(transform_, std::move(function), std::move(options)));
  }
  /// Batches of consecutive rows: each field gets an axis of rows. The last batch of an epoch has the rows that are
  /// left, unless `drop_last` is set. Throws Error if a size of a field varies, or `rows` is below 1.
  Pipeline batch(std::int64_t rows, bool drop_last = false) const {
    return Pipeline(batched_rows(transform_, rows, drop_last));
  }
  /// Batches of rows of different lengths; see PaddedBatches.
  Pipeline padded_batch(PaddedBatches options) const {
    return Pipeline(padded_batches(transform_, std::move(options)));
  }
  /// The rows of batches. Throws Error if a field has no axis.
  Pipeline unbatch() const { return Pipeline(unbatched_rows(transform_)); }
  /// All rows in another order each epoch, in constant memory. Throws Error if the pipeline is not indexed.
  Pipeline shuffle() const;
  /// All rows in another order each epoch, each drawn from a buffer of `buffer` rows. Throws Error if `buffer` is below
  /// 1.
  Pipeline shuffle(std::int64_t buffer) const;
  /// The rows `times` times. Each time, random numbers differ. Throws Error if `times` is below 1 or above
  /// 2^31.
  Pipeline repeat(std::int64_t times) const { return Pipeline(repeated_rows(transform_, times)); }
  /// The rows of pipelines that a function makes of these rows, which are read in turn; see Interleaving.
  Pipeline interleave(RowFields fields, PipelineOfRow function, Interleaving options = {}) const {
    return Pipeline(interleaved_rows(transform_, std::move(fields), std::move(function), options));
  }
  /// The first `rows` rows, or all if there are fewer. Throws Error if the number is negative.
  Pipeline take(std::int64_t rows) const;
  /// All rows but the first `rows`. Throws Error if the number is negative.
  Pipeline skip(std::int64_t rows) const;
  /// The rows index, index + shards, index + 2 shards, ... Throws Error unless `index` is in [0, shards).
  Pipeline shard(std::int64_t shards, std::int64_t index) const;
  /// The rows with these numbers, in this order. Throws Error if the pipeline is not indexed or has no such row.
  Pipeline subset(std::vector<std::int64_t> numbers) const;
  /// `rows` rows in each epoch, drawn with replacement with probabilities in proportion to the weights of the rows.
  /// Throws Error if the pipeline is not indexed or the weights do not fit.
  Pipeline sample(std::span<const double> weights, std::int64_t rows) const;
  /// The rows of epoch 0 in every epoch, kept in memory once they have been read.
  Pipeline cache() const;

 private:
  static std::vector<TransformPtr> transforms_of(std::span<const Pipeline> pipelines);

  TransformPtr transform_;
};

}  // namespace troupe
