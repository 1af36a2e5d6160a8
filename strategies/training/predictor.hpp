#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/store/parameter_reader.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/graph/rows_cache.hpp"
#include "troupe/strategies/training/single_user.hpp"
#include "troupe/strategies/training/trainer.hpp"

namespace troupe {

struct PredictorOptions {
  /// The largest number of batch sizes (rows of a call) for which kernels and memory stay prepared. Those of the least
  /// recently used batch size are freed first.
  std::size_t prepared = 8;
  /// While a fit trains the parameters, a call that finds its version of them older than this asks the fit for a new
  /// version, and does not wait for it.
  std::chrono::milliseconds refresh{1'000};
};

/// Predicts with the parameters of a trainer on the calling thread, without actors. Kernels are prepared once for each
/// number of rows. Every call reads the current parameters, and computes on the device of the strategy's first replica.
/// While a fit that uses one of them is in a run, calls read the newest version that the fit has published; see
/// PredictorOptions::refresh. The result equals, to the bit, that of Trainer::predict for a batch of the same number of
/// rows on one replica. Ops that read the batch info, such as random ones, see the number of the call as the number of
/// the step, so the calls of a predictor draw other numbers, those of the batches of Trainer::predict.
///
/// Not thread-safe: each thread needs its own predictor. Several predictors may use the same parameters at once. A
/// predictor may outlive the trainer.
class Predictor {
 public:
  using Arrays = std::vector<std::pair<std::string, Tensor>>;

  /// `fields` describe the rows of the calls, like Dataset::fields(). Throws Error if the model cannot read them or
  /// `prepared` is 0.
  Predictor(const Trainer& trainer, std::vector<Field> fields, PredictorOptions options = {});

  /// Returns one output of the model for the rows: a tensor [rows, ...] in host memory. `output` names the output;
  /// empty: the only one. `rows` must have an array [rows, ...] for every field that the model reads; other fields are
  /// ignored. The first call in a fit, or after a value was set in a fit, waits for a step boundary, at most 60 s.
  /// Throws Error that names the field if one is missing or has another shape, dtype or number of rows. Throws Error
  /// like ParameterReader::access().
  Tensor predict(const Arrays& rows, const std::string& output = {});
  /// Returns all outputs, with their names, in the model's order. Throws like predict().
  Arrays predict_all(const Arrays& rows);

  /// Returns the age of the parameters that the last call read: the time since a fit in progress had them, or 0 if no
  /// fit that uses one of them was in a run at the time of the call.
  std::chrono::nanoseconds parameters_age() const { return reader_.age(); }
  /// Returns the fields that the model reads.
  const std::vector<Field>& fields() const { return read_; }
  /// Returns the number of rows of the arrays. Throws Error like predict() if an array does not fit its field.
  /// Thread-safe.
  std::int64_t rows_of(const Arrays& rows) const;
  /// Throws Error if the model has no output of that name, or has several and `name` is empty, or if the output does
  /// not have one row per sample. Thread-safe.
  void expect_rows(const std::string& name) const;

 private:
  struct Prepared {
    Program program;
    std::vector<Tensor> inputs;  // one per field that the model reads
    Tensor batch_info;           // null if the model does not read it
    std::uint64_t parameters_version = 0;
  };

  /// Returns the name that the graph gives to an output of the model; an empty name means the only output. Throws like
  /// expect_output().
  const std::string& output_named(const std::string& name) const;
  const Tensor& array_of(const Field& field, const Arrays& rows) const;
  Prepared& prepared(std::int64_t rows);
  /// Copies the rows to the inputs of the program for their number, binds changed parameters, and runs the kernels. The
  /// caller must hold reader_.access().
  Prepared& run(const Arrays& rows);

  Graph graph_;
  Device device_;
  std::vector<Field> read_;
  bool reads_batch_info_;
  std::int64_t calls_ = 0;
  ParameterReader reader_;
  RowsCache<Prepared> prepared_;
  SingleUser user_{"predictor"};
};

}  // namespace troupe
