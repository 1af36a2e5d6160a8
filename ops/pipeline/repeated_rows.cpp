#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/pipeline/combined_rows.hpp"

namespace troupe {

namespace {

class Repeated final : public Transform {
 public:
  Repeated(TransformPtr input, std::int64_t times)
      : Transform(input->fields(), *input), input_(std::move(input)), times_(times) {}

  bool is_indexed() const override { return false; }
  std::unique_ptr<RowStream> open(const RowEpoch& epoch) const override {
    return std::make_unique<Stream>(*this, epoch);
  }
  void describe(ByteSequence& to) const override {
    to.add("repeat");
    to.add(times_);
    input_->describe(to);
  }

 private:
  class Stream final : public RowStream {
   public:
    Stream(const Repeated& repeated, const RowEpoch& epoch) : repeated_(repeated), epoch_(epoch) { open(); }

    bool next(Row& row) override {
      while (!input_->next(row)) {
        if (done_ + 1 == repeated_.times_) return false;
        ++done_;
        open();
      }
      return true;
    }
    void save(Position& position) const override {
      position.push_back(done_);
      input_->save(position);
    }
    void load(PositionReader& position) override {
      done_ = position.take(0, repeated_.times_ - 1);
      open();
      input_->load(position);
    }

   private:
    void open() {
      input_ = repeated_.input_->open({epoch_.seed, epoch_.epoch * repeated_.times_ + done_, epoch_.executor});
    }

    const Repeated& repeated_;
    RowEpoch epoch_;
    std::int64_t done_ = 0;  // the number of whole epochs of the input
    std::unique_ptr<RowStream> input_;
  };

  TransformPtr input_;
  std::int64_t times_;
};

}  // namespace

TransformPtr repeated_rows(TransformPtr input, std::int64_t times) {
  constexpr std::int64_t kMostTimes = std::int64_t{1} << 31;
  if (times < 1 || times > kMostTimes)
    throw Error("repeat", "rows cannot be repeated " + std::to_string(times) + " times");
  return std::make_shared<Repeated>(std::move(input), times);
}

}  // namespace troupe
