#include "troupe/actors/shard/shard_update.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/core/only_handle.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/print.hpp"
#include "troupe/ops/library/reshape.hpp"

namespace troupe {

namespace {

// Batch rows of the program. Any number works, since the graph of an update has no batch axis.
constexpr std::int64_t kRows = 1;
// Position of the number of rows in a block from change_since(): in the padding behind the magnitude.
constexpr std::size_t kRowsAt = 1;

}  // namespace

ShardUpdate::ShardUpdate(Graph update, const std::vector<std::string>& order)
    : batch_info_(BatchInfo::info().shape, BatchInfo::info().dtype), program_(update, kRows) {
  std::vector<TensorInfo> infos, with_magnitude{{Shape{}, DType::float32}};
  for (auto id : update.sources(kParameter)) stored_.push_back({update.producer(id).name, update.info(id)});
  for (const auto& node : update.nodes()) {
    if (!node.is(kAccumulate)) continue;
    // All parameters have the same number of rows.
    const auto rows = std::ranges::find(stored_, update.producer(node.inputs[1]).name, &Stored::name);
    accumulated_rows_ = static_cast<std::size_t>(rows - stored_.begin());
    accumulated_steps_ = node.attributes.integer("steps");
  }
  for (const auto& name : order) {
    const auto parameter = std::ranges::find(stored_, name, &Stored::name);
    if (parameter == stored_.end()) throw Error("shard", "the update has no parameter '" + name + "'");
    order_.push_back(static_cast<std::size_t>(parameter - stored_.begin()));
    parameter->travels = true;
    infos.push_back(parameter->info);
    with_magnitude.push_back(infos.back());
  }
  parameter_offsets_ = pack_offsets(infos);
  gradient_offsets_ = pack_offsets(with_magnitude);
  gradients_ = Tensor(gradient_block().shape, gradient_block().dtype);
  program_.bind(kGradients, gradients_);
  program_.bind(GraphBuilder::kBatchInfo, batch_info_);
}

void ShardUpdate::bind(std::span<const Tensor> tensors) {
  tensors_.assign(tensors.begin(), tensors.end());
  for (std::size_t i = 0; i < stored_.size(); ++i) program_.bind(stored_[i].name, tensors_.at(i));
}

template <class Visit>
void ShardUpdate::for_each(const Tensor& block, Visit visit) const {
  auto* const in_block = block.mutable_data<float>().data();
  for (std::size_t i = 0; i < order_.size(); ++i)
    visit(tensors_[order_[i]].mutable_data<float>(), in_block + parameter_offsets_[i], gradient_offsets_[i + 1]);
}

void ShardUpdate::pack(const Tensor& block) const {
  for_each(block, [](std::span<const float> now, float* packed, std::int64_t) { std::ranges::copy(now, packed); });
}

void ShardUpdate::unpack(const Tensor& block) const {
  for_each(block, [](std::span<float> now, const float* packed, std::int64_t) {
    std::copy_n(packed, now.size(), now.begin());
  });
}

Tensor ShardUpdate::change_since(const Tensor& parameters_then, std::int64_t rows) const {
  Tensor change(gradient_block().shape, gradient_block().dtype);
  auto* const to = change.mutable_data<float>().data();
  to[0] = 0.0F;
  to[kRowsAt] = static_cast<float>(rows);
  for_each(parameters_then, [to](std::span<const float> now, const float* then, std::int64_t offset) {
    auto* const gradient = to + offset;
    for (std::size_t k = 0; k < now.size(); ++k) gradient[k] = then[k] - now[k];
  });
  return change;
}

std::int64_t ShardUpdate::rows_of_change(const Tensor& gradients) {
  return static_cast<std::int64_t>(gradients.data<float>()[kRowsAt]);
}

void ShardUpdate::take_part(const Tensor& gradients, std::int64_t rows, std::int64_t global_rows) {
  std::memcpy(gradients_.mutable_raw(), gradients.raw(), gradients_.bytes());
  if (rows == global_rows || rows == 0) return;
  const auto weight = static_cast<float>(global_rows) / static_cast<float>(rows);
  for (auto& element : gradients_.mutable_data<float>()) element *= weight;
}

std::int64_t ShardUpdate::rows_of_change(std::int64_t number, std::int64_t rows) const {
  if (!accumulated_rows_) return rows;
  if (number % accumulated_steps_ != accumulated_steps_ - 1) return 0;
  return static_cast<std::int64_t>(tensors_[*accumulated_rows_].item<float>());
}

void ShardUpdate::move_towards(const Tensor& block, float share) const {
  for_each(block, [share](std::span<float> now, const float* goal, std::int64_t) {
    for (std::size_t k = 0; k < now.size(); ++k) now[k] += share * (goal[k] - now[k]);
  });
}

void ShardUpdate::compensate(const Tensor& parameters_then, float factor) const {
  auto* const gradients = gradients_.mutable_data<float>().data();
  for_each(parameters_then, [=](std::span<const float> now, const float* then, std::int64_t offset) {
    auto* const gradient = gradients + offset;
    troupe::compensate(now.size(), gradient, factor, now.data(), then);
  });
}

void compensate(std::size_t n, float* gradient, float factor, const float* now, const float* then) {
  for (std::size_t k = 0; k < n; ++k) {
    const auto compensated = gradient[k] + factor * gradient[k] * gradient[k] * (now[k] - then[k]);
    if (std::isfinite(compensated)) gradient[k] = compensated;
  }
}

void ShardUpdate::apply(const Tensor& gradients, std::int64_t number, std::int64_t rows) {
  program_.bind(kGradients, gradients);
  try {
    apply(number, rows);
  } catch (...) {
    program_.bind(kGradients, gradients_);
    throw;
  }
  program_.bind(kGradients, gradients_);
}

void ShardUpdate::apply(std::int64_t number, std::int64_t rows) {
  BatchInfo{rows, rows, 0, number}.write(batch_info_);
  program_.run();
}

ParameterBlocks::Block ParameterBlocks::now(const ShardUpdate& parameters) {
  if (now_) return now_;
  auto free = std::ranges::find_if(blocks_, [](const auto& block) { return is_only_handle(block); });
  if (free == blocks_.end()) {
    const auto info = parameters.parameter_block();
    free = blocks_.insert(blocks_.end(), std::make_shared<Tensor>(info.shape, info.dtype));
  }
  parameters.pack(**free);
  return now_ = *free;
}

std::int64_t identity_of_update(const Graph& update) {
  return static_cast<std::int64_t>(hash_of_text(to_text(update)));
}

}  // namespace troupe
