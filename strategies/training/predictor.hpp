#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/store/lease.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/graph/rows_cache.hpp"
#include "troupe/strategies/training/single_user.hpp"
#include "troupe/strategies/training/trainer.hpp"

namespace troupe {

struct PredictorOptions {
  /// Number of row counts that keep prepared kernels and memory. The least recently used are freed first.
  std::size_t prepared = 8;
};

/// Predicts with the parameters of a trainer on the calling thread, without actors. Kernels are prepared once for each
/// number of rows. Every call reads the current parameters, on the device of the strategy's first replica. Its result
/// has the bits of Trainer::predict for a batch of as many rows on one replica.
///
/// Not thread-safe: every thread has its own predictor. Several may predict with the same parameters at once. A
/// predictor may outlive the trainer.
class Predictor {
 public:
  using Arrays = std::vector<std::pair<std::string, Tensor>>;

  /// `fields` describe the rows of the calls, like Dataset::fields(). Throws Error if the model cannot read them or
  /// `prepared` is 0.
  Predictor(const Trainer& trainer, std::vector<Field> fields, PredictorOptions options = {});

  /// Predicts one output of the model, by name or the only one: [rows, ...] in host memory. `rows` has every field that
  /// the model reads, [rows, ...] as in a batch; other fields are ignored. Throws Error that names the field if one is
  /// missing or has another shape, dtype or number of rows. Throws Error while a run writes to the parameters.
  Tensor predict(const Arrays& rows, const std::string& output = {});
  /// Predicts all outputs, by name in the model's order. Throws like predict().
  Arrays predict_all(const Arrays& rows);

  /// The fields that the model reads.
  const std::vector<Field>& fields() const { return read_; }
  /// The number of rows of the arrays. Throws Error like predict(). Thread-safe.
  std::int64_t rows_of(const Arrays& rows) const;
  /// Throws Error that lists the outputs if there is none of that name. Thread-safe.
  void expect_output(const std::string& name) const { output_named(name); }

 private:
  struct Prepared {
    Program program;
    std::vector<Tensor> inputs;  // one per field that the model reads
    std::uint64_t parameters_version = 0;
  };

  /// The output of the graph for an output of the model. Throws Error that lists the outputs if there is none of that
  /// name.
  const std::string& output_named(const std::string& name) const;
  const Tensor& array_of(const Field& field, const Arrays& rows) const;
  Prepared& prepared(std::int64_t rows);
  /// Runs the kernels. The parameters must be borrowed.
  Prepared& run(const Arrays& rows);

  Graph graph_;
  Device device_;
  std::vector<Field> read_;
  ParameterReader reader_;
  RowsCache<Prepared> prepared_;
  SingleUser user_{"predictor"};
};

}  // namespace troupe
