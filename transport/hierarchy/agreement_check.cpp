#include "troupe/transport/hierarchy/agreement_check.hpp"

#include <utility>

namespace troupe::hierarchy {

namespace {

/// The number of integers that a signature is sent as.
constexpr std::int64_t kFields = 4;

Tensor encoded(const CallSignature& signature) {
  Tensor fields(Shape{kFields}, DType::int64);
  const auto to = fields.mutable_data<std::int64_t>();
  to[0] = static_cast<std::int64_t>(signature.kind);
  to[1] = static_cast<std::int64_t>(signature.dtype);
  to[2] = signature.elements;
  to[3] = signature.root;
  return fields;
}

CallSignature decoded(const std::int64_t* fields) {
  return {static_cast<CollectiveKind>(fields[0]), static_cast<DType>(fields[1]), fields[2],
          static_cast<int>(fields[3])};
}

class CheckedWork final : public HostWork {
 public:
  CheckedWork(const BeginStage& stage, Communicator& on, const BegunCollective& begun, std::vector<int> ranks)
      : begun_(begun),
        ranks_(std::move(ranks)),
        all_(Shape{kFields * on.size()}, DType::int64),
        check_(on.all_gather(encoded(begun.signature), all_)),
        work_(stage ? stage() : std::make_shared<CompletedWork>()) {}

  bool advance(std::size_t /*local*/) override {
    if (check_ && check_->advance()) {
      check_ = nullptr;
      expect_agreement();
    }
    if (work_ && work_->advance()) work_ = nullptr;
    return !check_ && !work_;
  }
  std::string waits_for(std::size_t /*local*/) const override {
    if (work_ && work_->waits_for() != "nothing") return work_->waits_for();
    return check_ ? to_string(begun_.signature) + ": " + check_->waits_for() : "nothing";
  }
  void listen(std::size_t /*local*/, ProgressListener listener) override {
    if (check_) check_->listen(0, listener);
    if (work_) work_->listen(0, std::move(listener));
  }

 private:
  void expect_agreement() const {
    const auto* const fields = all_.data<std::int64_t>().data();
    const auto first = decoded(fields);
    for (std::size_t i = 1; i < ranks_.size(); ++i)
      if (const auto other = decoded(fields + kFields * static_cast<std::int64_t>(i)); other != first)
        throw Aborted(disagreement(begun_.number, first, ranks_[0], other, ranks_[i]));
  }

  const BegunCollective begun_;
  const std::vector<int> ranks_;
  const Tensor all_;  // the signatures of all ranks
  // Null once they are complete.
  std::shared_ptr<Work> check_, work_;
};

}  // namespace

BeginStage with_check(BeginStage stage, std::shared_ptr<Communicator> on, const BegunCollective& begun,
                      std::vector<int> ranks) {
  if (!on) return stage;
  return [=] { return std::make_shared<CheckedWork>(stage, *on, begun, ranks); };
}

}  // namespace troupe::hierarchy
