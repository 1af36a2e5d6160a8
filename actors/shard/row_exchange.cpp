#include <algorithm>
#include <functional>
#include <span>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/shard/row_shard.hpp"

namespace troupe {

namespace {

class RowExchange final : public PortActor {
 public:
  RowExchange(caf::actor_config& config, int worker, RowLookup lookup, std::vector<RowRange> shards)
      : PortActor(config), worker_(worker), lookup_(std::move(lookup)), shards_(std::move(shards)) {}

 private:
  enum Input : std::uint32_t { kIndices, kGradients, kFirstShard };
  enum Output : std::uint32_t { kRows, kFirstGradients };

  void on_run(const RunInfo&) override {
    owners_.clear();
    waits_for_gradients_ = false;
  }

  void advance() override {
    while (waits_for_gradients_ ? send_gradients() : send_rows()) {
    }
    if (nothing_follows()) end();
  }

  /// Whether no further step of the run can be carried out. Between two steps this is true when the indices or any
  /// shard have ended. While the actor waits for gradients, it is true when the gradients have ended. The end of a
  /// shard does not count then: a shard that is not lost ends only after it has got the gradients.
  bool nothing_follows() const {
    if (waits_for_gradients_) return ended(kGradients);
    for (std::uint32_t i = 0; i < shards_.size(); ++i)
      if (ended(kFirstShard + i)) return true;
    return ended(kIndices);
  }

  bool send_rows() {
    if (!has(kIndices) || !has_free(kRows)) return false;
    for (std::uint32_t i = 0; i < shards_.size(); ++i)
      if (!has(kFirstShard + i)) return false;
    auto indices = take(kIndices);
    std::vector<Arrival> parts;
    auto failure = indices.failure;
    for (std::uint32_t i = 0; i < shards_.size(); ++i) {
      parts.push_back(take(kFirstShard + i));
      if (!failure) failure = parts.back().failure;
    }
    Tensor rows;
    if (!failure) failure = guarded(indices.step, [&] { rows = join_rows(indices.tensor, parts); });
    if (failure)
      send_failure(kRows, failure, indices.step);
    else
      send_output(kRows, rows, indices.step);
    for (std::uint32_t i = 0; i < shards_.size(); ++i) give_back(kFirstShard + i, parts[i]);
    give_back(kIndices, indices);
    return waits_for_gradients_ = true;
  }

  bool send_gradients() {
    if (!has(kGradients)) return false;
    for (std::uint32_t i = 0; i < shards_.size(); ++i)
      if (!has_free(kFirstGradients + i)) return false;
    auto gradients = take(kGradients);
    std::vector<Tensor> parts;
    auto failure = gradients.failure;
    if (!failure) failure = guarded(gradients.step, [&] { parts = split_gradients(gradients.tensor); });
    for (std::uint32_t i = 0; i < shards_.size(); ++i) {
      if (failure)
        send_failure(kFirstGradients + i, failure, gradients.step);
      else
        send_output(kFirstGradients + i, parts[i], gradients.step);
    }
    give_back(kGradients, gradients);
    waits_for_gradients_ = false;
    return true;
  }

  /// Calls `work`. Reports an exception of `work` as a failure of the run at `step` and returns that failure. Returns
  /// null without an exception.
  FailurePtr guarded(std::int64_t step, const std::function<void()>& work) {
    try {
      work();
      return nullptr;
    } catch (...) {
      auto failure = failure_of(worker_, step);
      report_failure(failure);
      return failure;
    }
  }

  Tensor join_rows(const Tensor& indices, std::span<const Arrival> parts) {
    owners_.clear();
    for (const auto index : read_indices(indices, lookup_.parameter.shape[0], name_in_plan())) {
      const auto next = std::ranges::upper_bound(shards_, index, {}, &RowRange::first);
      owners_.push_back(static_cast<std::size_t>(next - shards_.begin()) - 1);
    }
    std::vector<const float*> from;
    const auto counts = rows_by_shard();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      lookup_.expect_filled(parts[i].tensor, counts[i], name_in_plan());
      from.push_back(parts[i].tensor.data<float>().data());
    }
    const Tensor rows(lookup_.rows().shape.with_rows(indices.shape()[0]), DType::float32);
    auto* to = rows.mutable_data<float>().data();
    for (const auto owner : owners_) {
      to = std::copy_n(from[owner], lookup_.width(), to);
      from[owner] += lookup_.width();
    }
    return rows;
  }

  std::vector<Tensor> split_gradients(const Tensor& gradients) const {
    lookup_.expect_filled(gradients, static_cast<std::int64_t>(owners_.size()), name_in_plan());
    const auto magnitude_offset = static_cast<std::size_t>(lookup_.gradient_offset(lookup_.indices_per_row()) - 1);
    std::vector<Tensor> parts;
    for (const auto count : rows_by_shard()) {
      // The tensor for a shard without gradients has one batch row, too, to carry the magnitude.
      const auto rows = std::max<std::int64_t>(1, lookup_.filled_by(count));
      parts.emplace_back(lookup_.gradients().shape.with_rows(rows), DType::float32);
      std::ranges::fill(parts.back().mutable_data<float>(), 0.0F);
      parts.back().mutable_data<float>()[magnitude_offset] = lookup_.magnitude(gradients);
    }
    const auto* const from = gradients.data<float>().data();
    std::vector<std::int64_t> sent(shards_.size());
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      auto* const to = parts[owners_[i]].mutable_data<float>().data();
      std::copy_n(from + lookup_.gradient_offset(static_cast<std::int64_t>(i)), lookup_.width(),
                  to + lookup_.gradient_offset(sent[owners_[i]]++));
    }
    return parts;
  }

  std::vector<std::int64_t> rows_by_shard() const {
    std::vector<std::int64_t> counts(shards_.size());
    for (const auto owner : owners_) ++counts[owner];
    return counts;
  }

  const int worker_;
  const RowLookup lookup_;
  const std::vector<RowRange> shards_;
  std::vector<std::size_t> owners_;  // for each index of the last rows sent: the position of the shard that has the row
  bool waits_for_gradients_ = false;
};

}  // namespace

ActorId add_row_exchange(Plan& plan, const std::string& name, const Place& place, int worker, const RowLookup& lookup,
                         const std::vector<RowRange>& shards) {
  ExternalPorts ports{.pacing = Pacing::follows, .rule = FiringRule::own};
  ports.inputs = {lookup.indices, lookup.gradients()};
  ports.inputs.insert(ports.inputs.end(), shards.size(), lookup.rows());
  ports.outputs = {lookup.rows()};
  ports.outputs.insert(ports.outputs.end(), shards.size(), lookup.gradients());
  auto actor = external<RowExchange>(name, std::move(ports), worker, lookup, shards);
  actor.place = place;
  actor.replica = worker;
  actor.task.kind = "row_exchange";
  return plan.add(std::move(actor));
}

}  // namespace troupe
