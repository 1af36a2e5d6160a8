#include "troupe/strategies/step/pipeline_batches.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "troupe/actors/load/row_workers.hpp"
#include "troupe/actors/threads/thread_pinning.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// The actor that reads a pipeline. It reads one batch ahead, by which it learns whether the epoch has ended.
class PipelineBatches final : public PortActor {
 public:
  PipelineBatches(caf::actor_config& config, std::string name, Pipeline pipeline, PipelineOptions options,
                  std::shared_ptr<DataPositions> positions)
      : PortActor(config),
        name_(std::move(name)),
        pipeline_(std::move(pipeline)),
        seed_(options.seed),
        positions_(std::move(positions)),
        workers_(system(), options.threads > 0 ? options.threads : usable_cores()) {}

 private:
  void on_run(const RunInfo& run) override {
    if (reader_ && error_ == nullptr && epoch_ == run.epoch && sent_ == run.first_batch) return;
    reader_.reset();
    has_row_ = false;
    error_ = nullptr;
    epoch_ = run.epoch;
    sent_ = run.first_batch;
  }

  // An exception waits for fire(), which reports it as the failure of the step.
  bool has_step(std::int64_t) override {
    if (has_row_ || error_ != nullptr) return true;
    try {
      if (!reader_) open();
      has_row_ = reader_->next(row_);
      next_position_ = reader_->position();
    } catch (...) {
      error_ = std::current_exception();
    }
    return has_row_ || error_ != nullptr;
  }

  void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor> outputs) override {
    if (error_ != nullptr) std::rethrow_exception(error_);
    std::ranges::move(row_.values, outputs.begin());
    has_row_ = false;
    ++sent_;
    positions_->add({epoch_, sent_, std::move(next_position_)});
  }

  void open() {
    reader_.emplace(pipeline_.read({seed_, epoch_, &workers_}));
    if (const auto kept = positions_->at(epoch_, sent_); kept && reader_->fits(kept->position))
      return reader_->seek(kept->position);
    if (!reader_->skip(sent_))
      throw Error(name_, "epoch " + std::to_string(epoch_) + " has fewer than the " + std::to_string(sent_) +
                             " batches with which the training has begun it");
  }

  std::string name_;
  Pipeline pipeline_;
  std::uint64_t seed_;
  std::shared_ptr<DataPositions> positions_;
  RowWorkers workers_;
  std::optional<PipelineReader> reader_;  // reads epoch_; empty before its first batch
  std::int64_t epoch_ = 0;
  std::int64_t sent_ = 0;  // the number of batches of the epoch that have been sent
  Row row_;                // the next batch, if has_row_
  bool has_row_ = false;
  Position next_position_;  // the position behind row_
  std::exception_ptr error_;
};

/// The field of a batch. Throws Error if the size of an axis besides the rows varies.
Field batch_field(const std::string& name, const RowField& field) {
  auto sizes = field.sizes;
  if (!sizes.empty()) sizes[0] = kBatch;
  if (sizes.empty() || std::ranges::find(sizes.begin() + 1, sizes.end(), RowField::kVaries) != sizes.end())
    throw Error(name, "all batches of a fit must have one shape, but the field " + to_string(field) +
                          " has another size in each: use padded_batch() with one length");
  return {field.name, {Shape(sizes), field.dtype}};
}

}  // namespace

BatchSource batch_source(std::string name, const Pipeline& pipeline, PipelineOptions options) {
  if (options.threads < 0) throw Error(name, "the number of threads must not be negative");
  if (pipeline.batch_rows() == 0) throw Error(name, "the rows of the pipeline are no batches: end it with batch()");
  std::vector<Field> fields;
  for (const auto& field : pipeline.fields()) fields.push_back(batch_field(name, field));
  const auto positions = std::make_shared<DataPositions>();
  auto source =
      batch_source<PipelineBatches>(name, std::move(fields), pipeline.batch_rows(), name, pipeline, options, positions);
  source.positions = positions;
  return source;
}

}  // namespace troupe
