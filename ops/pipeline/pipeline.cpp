#include "troupe/ops/pipeline/pipeline.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/pipeline/cached_rows.hpp"
#include "troupe/ops/pipeline/selected_rows.hpp"
#include "troupe/ops/pipeline/shuffle_buffer.hpp"

namespace troupe {

namespace {

std::int64_t identity_of(const Transform& pipeline, const RowEpoch& epoch) {
  Hash hash;
  for (const auto& field : pipeline.fields()) hash.add(to_string(field));
  pipeline.describe(hash);
  hash.add(epoch.seed);
  hash.add(epoch.epoch);
  return static_cast<std::int64_t>(hash.digest());
}

}  // namespace

PipelineReader::PipelineReader(TransformPtr pipeline, RowEpoch epoch)
    : pipeline_(std::move(pipeline)),
      epoch_(epoch),
      identity_(identity_of(*pipeline_, epoch)),
      rows_(pipeline_->open(epoch)) {}

bool PipelineReader::skip(std::int64_t count) {
  if (count < 0) throw Error("pipeline", std::to_string(count) + " rows cannot be left out");
  return rows_->skip(count);
}

Position PipelineReader::position() const {
  Position position{identity_};
  rows_->save(position);
  return position;
}

void PipelineReader::seek(const Position& position) {
  if (!fits(position)) throw Error("pipeline", "the position belongs to another pipeline, seed or epoch");
  try {
    load(position);
  } catch (...) {
    rows_ = pipeline_->open(epoch_);
    throw;
  }
}

void PipelineReader::load(const Position& position) {
  PositionReader numbers(std::span<const std::int64_t>(position).subspan(1));
  rows_->load(numbers);
  numbers.finish();
}

Pipeline Pipeline::shuffle() const {
  return Pipeline(shuffled_rows(transform_));
}

Pipeline Pipeline::shuffle(std::int64_t buffer) const {
  return Pipeline(buffered_shuffle(transform_, buffer));
}

Pipeline Pipeline::take(std::int64_t rows) const {
  return Pipeline(range_of_rows(transform_, {.count = rows}));
}

Pipeline Pipeline::skip(std::int64_t rows) const {
  return Pipeline(range_of_rows(transform_, {.first = rows}));
}

Pipeline Pipeline::shard(std::int64_t shards, std::int64_t index) const {
  if (index < 0 || index >= shards)
    throw Error("shard", "there is no shard " + std::to_string(index) + " of " + std::to_string(shards));
  return Pipeline(range_of_rows(transform_, {.first = index, .step = shards}));
}

Pipeline Pipeline::subset(std::vector<std::int64_t> numbers) const {
  return Pipeline(subset_of_rows(transform_, std::move(numbers)));
}

Pipeline Pipeline::sample(std::span<const double> weights, std::int64_t rows) const {
  return Pipeline(sampled_rows(transform_, weights, rows));
}

Pipeline Pipeline::cache() const {
  return Pipeline(cached_rows(transform_));
}

std::vector<TransformPtr> Pipeline::transforms_of(std::span<const Pipeline> pipelines) {
  std::vector<TransformPtr> transforms;
  for (const auto& pipeline : pipelines) transforms.push_back(pipeline.transform());
  return transforms;
}

}  // namespace troupe
