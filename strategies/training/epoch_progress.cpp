#include "troupe/strategies/training/epoch_progress.hpp"

namespace troupe {

bool EpochProgress::is_same_data() const {
  return data_.rows == position_.rows && data_.batch_rows == position_.batch_rows && data_.layout == position_.layout &&
         (position_.data == 0 || position_.data == data_.identity());
}

void EpochProgress::begin_run() {
  position_ = progress_.position();
  if (position_.batch > 0 && !is_same_data()) begin_next_epoch();
  position_.rows = data_.rows;
  position_.batch_rows = data_.batch_rows;
  position_.layout = data_.layout;
  begin_ = position_;
}

void EpochProgress::pass_step(std::int64_t step) {
  position_.step = step + 1;
  ++position_.batch;
}

void EpochProgress::set_steps(std::int64_t steps) {
  position_.step = begin_.step + steps;
  position_.batch = begin_.batch + steps;
}

void EpochProgress::begin_next_epoch() {
  ++position_.epoch;
  position_.batch = 0;
}

void EpochProgress::keep() {
  position_.data = 0;
  progress_.set_position(position_);
  if (position_.batch == 0) return;
  position_.data = data_.identity();
  progress_.set_position(position_);
}

std::int64_t EpochProgress::batches_at_begin() const {
  return data_.rows / data_.batch_rows + (data_.rows % data_.batch_rows == 0 ? 0 : 1) - begin_.batch;
}

std::int64_t EpochProgress::sample_at(std::int64_t step, int replica, std::int64_t row) const {
  auto batch = begin_;
  batch.batch += step - begin_.step;
  return data_.sample_at(batch, replica, row);
}

}  // namespace troupe
