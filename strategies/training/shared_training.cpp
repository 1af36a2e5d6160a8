#include "troupe/strategies/training/shared_training.hpp"

#include <algorithm>
#include <cstring>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/strategy.hpp"
#include "troupe/strategies/training/chief_values.hpp"
#include "troupe/strategies/training/held_values.hpp"
#include "troupe/strategies/training/job_news.hpp"
#include "troupe/strategies/training/shared_data.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

SharedTraining::SharedTraining(std::shared_ptr<Cluster> cluster, const Strategy& strategy, Stores stores,
                               std::chrono::milliseconds limit)
    : cluster_(std::move(cluster)), strategy_(strategy), stores_(std::move(stores)), limit_(limit) {
  if (!has_others()) return;
  const auto expendable = strategy_.expendable();
  cluster_->set_expendable(expendable);
  number_ = cluster_->next_generation();
  for (int process = 0; process < cluster_->size(); ++process)
    if (!expendable.contains(process)) holding_.push_back(process);
}

bool SharedTraining::has_others() const {
  return cluster_ && cluster_->size() > 1;
}

bool SharedTraining::is_first() const {
  return !has_others() || cluster_->rank() == 0;
}

bool SharedTraining::takes_part_only() const {
  return has_others() && std::ranges::find(holding_, cluster_->rank()) == holding_.end();
}

Communicator& SharedTraining::holders() {
  if (!holders_) {
    const auto rank = std::ranges::find(holding_, cluster_->rank()) - holding_.begin();
    const auto name = "values " + std::to_string(number_);
    holders_ = cluster_->communicator(name, holding_)[static_cast<std::size_t>(rank)];
    // Nobody waits for one that is lost, though its links may seem whole.
    on_lost_ = cluster_->on_lost([weak = std::weak_ptr(holders_)](const FailurePtr& failure) {
      if (const auto group = weak.lock()) group->abort(failure);
    });
  }
  return *holders_;
}

Dataset SharedTraining::share(const Dataset& data) {
  if (!has_others()) return data;
  const bool own_samples = data.sharding() == DataSharding::file || data.sharding() == DataSharding::off;
  if (!strategy_.expendable().empty() && own_samples)
    throw Error("trainer", "where processes may be lost each of them needs all samples: sharding data or auto");
  return shared_data(data, *cluster_, holders(), limit_);
}

void SharedTraining::agree_on_values() {
  if (!has_others()) return synchronize(stores_);
  if (!takes_part_only()) adopt_chief_values(holders(), *stores_.front(), limit_);
}

void SharedTraining::end_run(const Plan& trained, Recording* record) {
  if (!has_others()) {
    if (stores_.size() > 1) join_held_rows(stores_, trained);
    return synchronize(stores_);
  }
  if (takes_part_only()) return;
  spread_held_values(holders(), holding_, trained, *stores_.front(), limit_);
  if (record != nullptr) gather_recording(holders(), *record, limit_);
}

/// As the sum of their bits.
void SharedTraining::gather_rows(const Tensor& rows) {
  if (!has_others() || takes_part_only()) return;
  const auto bytes = static_cast<std::int64_t>(rows.bytes());
  const Tensor words(Shape{(bytes + 3) / 4}, DType::int32);
  if (bytes > 0) std::memcpy(words.mutable_raw(), rows.raw(), rows.bytes());
  holders().all_reduce(words)->wait(limit_);
  if (bytes > 0) std::memcpy(rows.mutable_raw(), words.raw(), rows.bytes());
}

void SharedTraining::tell(const JobNews& news) const {
  if (has_others() && is_first() && !strategy_.expendable().empty()) cluster_->announce(news.encode());
}

}  // namespace troupe
