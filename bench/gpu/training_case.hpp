#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "troupe/bench/gpu/large_models.hpp"
#include "troupe/ops/data/dataset.hpp"
#include "troupe/strategies/step/training_graph.hpp"

namespace troupe::bench {

/// The unit in which the rows of a batch are counted.
struct RowCount {
  std::string unit;  ///< images or tokens
  std::int64_t units;
};

/// The flags of a training to measure.
struct TrainingFlags {
  std::string device = "cuda:0", model = "mlp", precision = "float32", grain = "fused";
  /// `device`: the images are on the device, where a batch is gathered. `loader`: the host loads each batch.
  std::string images = "device";
  std::string data;  ///< directory of Fashion-MNIST
  std::int64_t batch = 128;
  ModelSizes sizes;  ///< sizes of gpt2 and resnet50

  TrainingFlags();
  void declare(CLI::App& app);
  /// Whether a step takes tens of milliseconds.
  bool is_large() const { return model == "gpt2" || model == "resnet50"; }
  RowCount row_count() const;
};

/// A model with its loss, optimizer and data.
struct TrainingCase {
  TrainingSpec spec;
  Dataset data;
};

/// Makes the case of these flags. An epoch has at least `epoch_steps` steps of whole batches; with the images of
/// Fashion-MNIST from the loader it is one pass over the data. Sets the precision of products. Throws Error if a size
/// is not positive or the data cannot be read.
TrainingCase make_case(const TrainingFlags& flags, std::int64_t epoch_steps);

}  // namespace troupe::bench
