#include "troupe/ops/pipeline/mapped_stream.hpp"

#include <exception>
#include <vector>

#include "troupe/ops/core/error.hpp"

namespace troupe {

MappedStream::MappedStream(std::unique_ptr<RowStream> input, Function function, RowExecutor* executor,
                           std::int64_t rows_of_job)
    : function_(std::move(function)),
      input_(std::move(input)),
      rows_of_job_(executor == nullptr ? 1 : rows_of_job),
      groups_(executor, [this] { return next_job(); }) {}

bool MappedStream::next(Row& row) {
  while (given_ == rows_.size()) {
    rows_.clear();
    given_ = 0;
    if (!groups_.next(rows_)) return false;
    if (rows_.empty()) input_.release(group_++);
  }
  row = std::move(rows_[given_++]);
  if (given_ == rows_.size()) input_.release(group_++);
  return true;
}

bool MappedStream::next_input(Row& row) {
  if (again_.empty()) return input_.next(row);
  row = std::move(again_.front());
  again_.pop_front();
  return true;
}

ParallelRows::Job MappedStream::next_job() {
  std::vector<Row> rows;
  Row row;
  if (input_error_ != nullptr) std::rethrow_exception(input_error_);
  try {
    while (std::cmp_less(rows.size(), rows_of_job_) && next_input(row)) rows.push_back(std::move(row));
  } catch (...) {
    // The rows before come first.
    if (rows.empty()) throw;
    input_error_ = std::current_exception();
  }
  if (rows.empty()) return nullptr;
  const auto first = begun_;
  begun_ += static_cast<std::int64_t>(rows.size());
  return [this, first, rows = std::move(rows)](std::vector<RowGroup>& groups) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      groups.push_back(function_(rows[i], first + static_cast<std::int64_t>(i)));
  };
}

void MappedStream::save(Position& position) const {
  position.push_back(group_);
  position.push_back(given_ == rows_.size() ? 0 : static_cast<std::int64_t>(given_));
  input_.save(position);
}

void MappedStream::load(PositionReader& position) {
  groups_.clear();
  rows_.clear();
  again_.clear();
  input_error_ = nullptr;
  given_ = 0;
  group_ = begun_ = position.take(0);
  const auto given = position.take(0);
  input_.load(position, [&](std::int64_t number, Row& row) {
    if (number < group_) return false;
    again_.push_back(std::move(row));
    return true;
  });
  if (input_.pulled() - static_cast<std::int64_t>(again_.size()) != group_)
    throw Error("pipeline", "the position does not belong to this pipeline");
  if (given == 0) return;
  if (!groups_.next(rows_) || std::cmp_greater_equal(given, rows_.size()))
    throw Error("pipeline", "the position does not belong to this pipeline");
  given_ = static_cast<std::size_t>(given);
}

}  // namespace troupe
