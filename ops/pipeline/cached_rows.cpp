#include "troupe/ops/pipeline/cached_rows.hpp"

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "troupe/ops/pipeline/row_memory.hpp"

namespace troupe {

namespace {

/// The rows of an input in memory, as far as they have been read. Thread-safe.
class RowCache {
 public:
  explicit RowCache(std::function<std::unique_ptr<RowStream>()> open) : open_(std::move(open)) {}

  /// Sets `row` to a row, and reads the input up to that row if it has not been read. Returns false if there is none.
  bool read(std::int64_t number, Row& row) {
    const std::lock_guard lock(mutex_);
    while (std::cmp_less_equal(rows_.size(), number))
      if (!read_next()) return false;
    row = rows_[static_cast<std::size_t>(number)];
    return true;
  }

 private:
  bool read_next() {
    try {
      if (input_ == nullptr) {
        input_ = open_();
        input_->skip(static_cast<std::int64_t>(rows_.size()));
      }
      Row next;
      if (!input_->next(next)) return false;
      rows_.push_back(packed(std::move(next)));
      return true;
    } catch (...) {
      // A stream that has thrown gives no further rows.
      input_ = nullptr;
      throw;
    }
  }

  std::mutex mutex_;
  std::function<std::unique_ptr<RowStream>()> open_;
  std::unique_ptr<RowStream> input_;
  std::deque<Row> rows_;
};

class Cached final : public Transform {
 public:
  explicit Cached(TransformPtr input) : Transform(input->fields(), *input), input_(std::move(input)) {}

  bool is_indexed() const override { return false; }
  std::unique_ptr<RowStream> open(const RowEpoch& epoch) const override {
    return std::make_unique<Stream>(cache_of(epoch.seed));
  }
  void describe(ByteSequence& to) const override {
    to.add("cache");
    input_->describe(to);
  }

 private:
  class Stream final : public RowStream {
   public:
    explicit Stream(std::shared_ptr<RowCache> cache) : cache_(std::move(cache)) {}

    bool next(Row& row) override {
      if (!cache_->read(next_, row)) return false;
      ++next_;
      return true;
    }
    void save(Position& position) const override { position.push_back(next_); }
    void load(PositionReader& position) override { next_ = position.take(0); }

   private:
    std::shared_ptr<RowCache> cache_;
    std::int64_t next_ = 0;
  };

  std::shared_ptr<RowCache> cache_of(std::uint64_t seed) const {
    const std::lock_guard lock(mutex_);
    auto& cache = caches_[seed];
    if (cache == nullptr)
      cache = std::make_shared<RowCache>([input = input_, seed] { return input->open({.seed = seed, .epoch = 0}); });
    return cache;
  }

  TransformPtr input_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, std::shared_ptr<RowCache>> caches_;  // by seed
};

}  // namespace

TransformPtr cached_rows(TransformPtr input) {
  return std::make_shared<Cached>(std::move(input));
}

}  // namespace troupe
