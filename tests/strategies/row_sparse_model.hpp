#pragma once

#include <cstdint>
#include <vector>

#include "troupe/ops/data/dataset.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/slice.hpp"
#include "troupe/ops/nn/model.hpp"
#include "troupe/ops/nn/sequence.hpp"

namespace troupe::testing {

/// Sentences of three words out of thirteen, some far more often than others, each with a label and a fourth
/// word.
inline Dataset sentences(std::int64_t batch, std::int64_t count = 40) {
  const Tensor words({count, 3}, DType::int32), last({count}, DType::int64), labels({count}, DType::int32);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    for (std::size_t k = 0; k < 3; ++k)
      words.mutable_data<std::int32_t>()[3 * at + k] =
          static_cast<std::int32_t>(i % 5 == 0 ? 12 : (i * i + 7 * static_cast<std::int64_t>(k)) % 11);
    last.mutable_data<std::int64_t>()[at] = (3 * i) % 7;
    labels.mutable_data<std::int32_t>()[at] = static_cast<std::int32_t>((i * i + i / 3) % 4);
  }
  return Dataset::from_arrays({{"x", words}, {"last", last}, {"y", labels}}).shuffle(count).batch(batch);
}

/// The lookups of a model: one table once, or one table twice and another one by other indices.
enum class Lookups { one, several };

/// Classifies a sentence by the vectors of its words.
inline Model sentence_model(Lookups lookups, bool row_sparse) {
  return [=](const Inputs& inputs) -> Outputs {
    const auto words = inputs["x"];
    auto& builder = words.builder();
    const auto table = [&](const char* name, std::int64_t rows, std::int64_t units) {
      const auto start = Initializer::normal(0.3);
      return row_sparse ? builder.row_sparse_parameter(name, {rows, units}, start)
                        : builder.parameter(name, {rows, units}, start);
    };
    const auto vectors = table("words", 13, 5);
    auto features = reshape(gather(vectors, words), {kBatch, 15});
    if (lookups == Lookups::several) {
      const auto first = gather(vectors, reshape(slice(words, 1, 0, 1), {kBatch}));
      const auto last = gather(table("ends", 7, 5), inputs["last"]);
      features = concat(std::vector{features, mul(first, last)}, 1);
    }
    return Dense{4}(features);
  };
}

}  // namespace troupe::testing
