#include "troupe/actors/shard/row_lookup.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

TensorInfo RowLookup::rows() const {
  auto sizes = indices.shape.list();
  for (std::size_t axis = 1; axis < parameter.shape.rank(); ++axis) sizes.push_back(parameter.shape[axis]);
  return {Shape(sizes), DType::float32};
}

void RowLookup::expect_filled(const Tensor& tensor, std::int64_t rows, const std::string& receiver) const {
  if (tensor.shape()[0] < filled_by(rows))
    throw Error(receiver, "got " + to_string(tensor) + " for " + std::to_string(rows) + " rows of the parameter");
}

float RowLookup::magnitude(const Tensor& gradients) const {
  return gradients.elements() == 0 ? 0.0F
                                   : gradients.data<float>()[static_cast<std::size_t>(indices_per_row() * width())];
}

std::vector<std::int64_t> read_indices(const Tensor& indices, std::int64_t rows, const std::string& place) {
  std::vector<std::int64_t> read(static_cast<std::size_t>(indices.elements()));
  if (indices.dtype() == DType::int64)
    std::ranges::copy(indices.data<std::int64_t>(), read.begin());
  else
    std::ranges::copy(indices.data<std::int32_t>(), read.begin());
  const auto row_elements = indices.shape().rank() == 0 ? 1 : std::max<std::int64_t>(1, indices.shape().row_elements());
  for (std::size_t i = 0; i < read.size(); ++i)
    if (read[i] < 0 || read[i] >= rows)
      throw InvalidSample(place,
                          "index " + std::to_string(read[i]) + " " +
                              InvalidSample::place_text(static_cast<std::int64_t>(i), row_elements) +
                              " is not one of the " + std::to_string(rows) + " rows",
                          static_cast<std::int64_t>(i), row_elements);
  return read;
}

}  // namespace troupe
