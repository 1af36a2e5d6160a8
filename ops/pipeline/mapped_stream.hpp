#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "troupe/ops/pipeline/held_rows.hpp"
#include "troupe/ops/pipeline/parallel_rows.hpp"

namespace troupe {

/// The rows that a function makes of the rows of a stream, group by group. The rows of the input are read in order, and
/// the function runs ahead on the threads of an executor. The position is the number of the row of the input whose
/// group comes next, the number of rows of that group that have been read, and the position of the input.
class MappedStream final : public RowStream {
 public:
  /// Makes the group of a row, whose number in the input is `number`. May run on any thread, several at a time.
  using Function = std::function<RowGroup(const Row& row, std::int64_t number)>;

  /// A job maps `rows_of_job` rows. With a null executor, the function runs in next(), for one row after the other.
  MappedStream(std::unique_ptr<RowStream> input, Function function, RowExecutor* executor, std::int64_t rows_of_job);

  bool next(Row& row) override;
  void save(Position& position) const override;
  void load(PositionReader& position) override;

 private:
  ParallelRows::Job next_job();
  bool next_input(Row& row);

  Function function_;
  HeldRows input_;
  std::deque<Row> again_;           // rows of the input that load() has read and no job has
  std::exception_ptr input_error_;  // the error of the input behind the rows that jobs have
  std::int64_t rows_of_job_;
  std::int64_t begun_ = 0;  // the number of rows of the input that jobs have
  std::int64_t group_ = 0;  // the number of the row of the input whose group is read
  RowGroup rows_;           // the rows of that group, unless they are all given
  std::size_t given_ = 0;   // the number of its rows that next() has returned
  ParallelRows groups_;     // behind the members that its jobs read
};

}  // namespace troupe
