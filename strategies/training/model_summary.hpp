#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan_memory.hpp"
#include "troupe/strategies/training/trainer.hpp"

namespace troupe {

/// The layers and parameters of a model, and the memory of the plan that trains it.
struct ModelSummary {
  /// A parameter or buffer.
  struct Row {
    std::string name;
    Shape shape;
    bool trained = false;
  };
  /// A layer: all parameters and computed values of the model's graph whose names are equal before the first dot.
  struct Layer {
    std::string name;
    TensorInfo output;
    std::int64_t elements = 0;  ///< number of elements of the trained parameters of the layer
  };
  /// The ops of a replica that multiply factors of one dtype: products, convolutions, attention and recurrences.
  struct Products {
    DType dtype = DType::float32;
    /// True: kernels of products convert the factors to float32, because this machine has no instructions for them.
    /// Other processes may have.
    bool converted = false;
    int ops = 0;

    bool operator==(const Products&) const = default;
  };
  std::vector<Layer> layers;  ///< in the order of the model's graph
  std::vector<Row> rows;
  std::int64_t trained_elements = 0;
  std::vector<Products> products;  ///< the products of the first replica of the plan that trains the model
  /// The memory of the plan that trains the model on the data, over all replicas.
  PlanMemory memory;
};

/// Summarizes the model of a trainer by the plan of a fit, which is not run. Throws Error if the model does not fit the
/// data.
ModelSummary summarize(const Trainer& trainer, const Dataset& data);

/// Formats the layers as a table. The lines below the table have the number of trained elements, the memory of the plan
/// and the dtypes in which it multiplies.
std::string to_string(const ModelSummary& summary);

}  // namespace troupe
