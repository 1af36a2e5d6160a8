#include "troupe/ops/pipeline/held_rows.hpp"

#include <utility>

namespace troupe {

HeldRows::HeldRows(std::unique_ptr<RowStream> stream) : stream_(std::move(stream)) {
  add_mark();
}

void HeldRows::add_mark() {
  marks_.push_back({pulled(), {}});
  stream_->save(marks_.back().position);
}

bool HeldRows::next(Row& row) {
  if (pulled() - marks_.back().number >= kRowsOfMark) add_mark();
  if (!stream_->next(row)) return false;
  is_held_.push_back(true);
  return true;
}

void HeldRows::release(std::int64_t number) {
  is_held_[static_cast<std::size_t>(number - oldest_)] = false;
  while (!is_held_.empty() && !is_held_.front()) {
    is_held_.pop_front();
    ++oldest_;
  }
  while (marks_.size() > 1 && marks_[1].number <= oldest_) marks_.pop_front();
}

void HeldRows::save(Position& position) const {
  const auto& mark = marks_.front();
  position.push_back(mark.number);
  position.push_back(pulled());
  position.insert(position.end(), mark.position.begin(), mark.position.end());
}

void HeldRows::load(PositionReader& position, const IsHeld& is_held) {
  oldest_ = position.take(0);
  const auto pulled_rows = position.take(oldest_);
  stream_->load(position);
  is_held_.clear();
  marks_.clear();
  add_mark();
  Row row;
  while (pulled() < pulled_rows) {
    if (!next(row)) throw Error("pipeline", "the data has fewer rows than when the position was saved");
    const auto number = pulled() - 1;
    if (!is_held(number, row)) release(number);
  }
}

}  // namespace troupe
