#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/communicator.hpp"
#include "troupe/transport/local/pending_collective.hpp"
#include "troupe/transport/local/rank_sum.hpp"

namespace troupe {

namespace {

using local::Abort;
using local::CallSignature;
using local::Meeting;

/// What the ranks of one group share.
struct Group {
  explicit Group(int size) : next_call(size, 0), ranks(size) {}

  std::mutex mutex;
  std::vector<std::int64_t> next_call;
  std::map<std::int64_t, std::shared_ptr<Meeting>> meetings;
  std::map<std::pair<int, int>, std::deque<Tensor>> letters;
  std::map<std::pair<int, int>, std::function<void()>> receivers;
  Abort abort;
  int ranks;
};

/// Fails every collective of the group, and wakes all ranks but one.
void abort_group(Group& group, int but, const std::string& reason) {
  group.abort.set(reason);
  std::lock_guard lock(group.mutex);
  for (const auto& [number, meeting] : group.meetings) meeting->notify(but);
  for (const auto& [ranks, receiver] : group.receivers)
    if (receiver && ranks.second != but) receiver();
}

/// One rank's way through a meeting: `reduce` after all arrived, `copy` after all reduced.
class MeetingWork final : public Work {
 public:
  using Piece = std::function<void(Meeting&)>;

  MeetingWork(std::shared_ptr<Group> group, std::shared_ptr<Meeting> meeting, int rank, Piece reduce, Piece copy)
      : group_(std::move(group)),
        meeting_(std::move(meeting)),
        rank_(rank),
        pieces_{std::move(reduce), std::move(copy)} {}

  bool advance() override {
    group_->abort.check();
    try {
      return advance_phases();
    } catch (const std::exception& error) {
      abort_group(*group_, rank_, error.what());
      throw;
    }
  }

  std::string waits_for() const override {
    if (waiting_for_ == Meeting::kPhases) return "nothing";
    const char* const missing[] = {" has not come", " has not summed its slice", " has not copied the result"};
    const auto rank = meeting_->missing(static_cast<Meeting::Phase>(waiting_for_));
    return to_string(meeting_->signature) + ": rank " + std::to_string(rank) + missing[waiting_for_];
  }

 private:
  bool advance_phases() {
    for (; waiting_for_ < Meeting::kPhases; ++waiting_for_) {
      if (!meeting_->complete(static_cast<Meeting::Phase>(waiting_for_))) return false;
      if (waiting_for_ == Meeting::copied) continue;
      if (const auto& piece = pieces_[waiting_for_]) piece(*meeting_);
      meeting_->pass(rank_, static_cast<Meeting::Phase>(waiting_for_ + 1));
    }
    // Nobody reads it any more, and whoever lent the tensor counts its handles.
    meeting_->inputs[rank_] = Tensor();
    std::lock_guard lock(group_->mutex);
    group_->meetings.erase(meeting_->number);
    return true;
  }

  std::shared_ptr<Group> group_;
  std::shared_ptr<Meeting> meeting_;
  int rank_;
  std::array<Piece, 2> pieces_;
  int waiting_for_ = Meeting::arrived;
};

class SentWork final : public Work {
 public:
  bool advance() override { return true; }
  std::string waits_for() const override { return "nothing"; }
};

class ReceiveWork final : public Work {
 public:
  ReceiveWork(std::shared_ptr<Group> group, Tensor tensor, int from, int to)
      : group_(std::move(group)), tensor_(std::move(tensor)), from_(from), to_(to) {}

  bool advance() override {
    if (done_) return true;
    group_->abort.check();
    Tensor letter;
    {
      std::lock_guard lock(group_->mutex);
      auto& letters = group_->letters[{from_, to_}];
      if (letters.empty()) return false;
      letter = letters.front();
      letters.pop_front();
    }
    if (letter.bytes() != tensor_.bytes() || letter.dtype() != tensor_.dtype())
      throw Error("recv", "rank " + std::to_string(from_) + " sent " + to_string(letter) + " where rank " +
                              std::to_string(to_) + " expected " + to_string(tensor_));
    std::memcpy(tensor_.mutable_raw(), letter.raw(), letter.bytes());
    done_ = true;
    return true;
  }

  std::string waits_for() const override { return "recv: rank " + std::to_string(from_) + " has not sent"; }

 private:
  std::shared_ptr<Group> group_;
  Tensor tensor_;
  int from_, to_;
  bool done_ = false;
};

struct Slice {
  std::int64_t first, count;
};

/// Rank's share of `elements`, cut where a cache line ends so that ranks do not write to each other's lines.
Slice slice_of(std::int64_t elements, int ranks, int rank) {
  constexpr std::int64_t kLine = 16;
  const auto share = ((elements + ranks - 1) / ranks + kLine - 1) / kLine * kLine;
  const auto first = std::min(elements, share * rank);
  return {first, std::min(elements, first + share) - first};
}

std::byte* at(const Tensor& tensor, std::int64_t element) {
  return tensor.mutable_raw() + static_cast<std::size_t>(element) * size_of(tensor.dtype());
}

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->ranks; }

  std::unique_ptr<Work> all_reduce(const Tensor& tensor, OnProgress on_progress) override {
    const auto reduce = [rank = rank_, ranks = size(), tensor](Meeting& meeting) {
      const auto mine = slice_of(tensor.elements(), ranks, rank);
      local::rank_sum(meeting.inputs, mine.first, mine.count, at(tensor, mine.first));
    };
    const auto copy = [rank = rank_, ranks = size(), tensor](Meeting& meeting) {
      for (int other = 0; other < ranks; ++other) {
        const auto slice = slice_of(tensor.elements(), ranks, other);
        if (other == rank || slice.count == 0) continue;
        std::memcpy(at(tensor, slice.first), at(meeting.inputs[other], slice.first),
                    static_cast<std::size_t>(slice.count) * size_of(tensor.dtype()));
      }
    };
    return meet("all_reduce", tensor, tensor.elements(), 0, reduce, copy, std::move(on_progress));
  }

  std::unique_ptr<Work> broadcast(const Tensor& tensor, int root, OnProgress on_progress) override {
    expect_rank(root);
    const auto copy = [rank = rank_, root, tensor](Meeting& meeting) {
      if (rank != root && tensor.bytes() > 0)
        std::memcpy(tensor.mutable_raw(), meeting.inputs[root].raw(), tensor.bytes());
    };
    return meet("broadcast", tensor, tensor.elements(), root, {}, copy, std::move(on_progress));
  }

  std::unique_ptr<Work> all_gather(const Tensor& input, const Tensor& output, OnProgress on_progress) override {
    expect_multiple("all_gather", output, input);
    const auto copy = [input, output](Meeting& meeting) {
      for (std::size_t other = 0; other < meeting.inputs.size() && input.bytes() > 0; ++other)
        std::memcpy(output.mutable_raw() + other * input.bytes(), meeting.inputs[other].raw(), input.bytes());
    };
    return meet("all_gather", input, input.elements(), 0, {}, copy, std::move(on_progress));
  }

  std::unique_ptr<Work> reduce_scatter(const Tensor& input, const Tensor& output, OnProgress on_progress) override {
    expect_multiple("reduce_scatter", input, output);
    const auto reduce = [rank = rank_, output](Meeting& meeting) {
      local::rank_sum(meeting.inputs, output.elements() * rank, output.elements(), output.mutable_raw());
    };
    return meet("reduce_scatter", input, input.elements(), 0, reduce, {}, std::move(on_progress));
  }

  std::unique_ptr<Work> barrier(OnProgress on_progress) override {
    return meet("barrier", Tensor(Shape{0}, DType::uint8), 0, 0, {}, {}, std::move(on_progress));
  }

  std::unique_ptr<Work> send(const Tensor& tensor, int to, OnProgress) override {
    expect_rank(to);
    group_->abort.check();
    OnProgress receiver;
    {
      std::lock_guard lock(group_->mutex);
      group_->letters[{rank_, to}].push_back(tensor.clone());
      receiver = group_->receivers[{rank_, to}];
    }
    if (receiver) receiver();
    return std::make_unique<SentWork>();
  }

  std::unique_ptr<Work> recv(const Tensor& tensor, int from, OnProgress on_progress) override {
    expect_rank(from);
    std::lock_guard lock(group_->mutex);
    group_->receivers[{from, rank_}] = std::move(on_progress);
    return std::make_unique<ReceiveWork>(group_, tensor, from, rank_);
  }

  void abort(const std::string& reason) override { abort_group(*group_, rank_, reason); }

 private:
  void expect_rank(int rank) const {
    if (rank < 0 || rank >= size())
      throw Error("communicator", "there is no rank " + std::to_string(rank) + " among " + std::to_string(size()));
  }

  void expect_multiple(const char* place, const Tensor& whole, const Tensor& part) const {
    if (whole.dtype() != part.dtype() || whole.elements() != part.elements() * size())
      throw Error(place, to_string(whole) + " is not " + std::to_string(size()) + " times " + to_string(part));
  }

  std::unique_ptr<Work> meet(const char* name, const Tensor& input, std::int64_t elements, int root,
                             MeetingWork::Piece reduce, MeetingWork::Piece copy, OnProgress on_progress) {
    group_->abort.check();
    auto meeting = enter({name, input.dtype(), elements, root}, input, std::move(on_progress));
    meeting->pass(rank_, Meeting::arrived);
    return std::make_unique<MeetingWork>(group_, std::move(meeting), rank_, std::move(reduce), std::move(copy));
  }

  std::shared_ptr<Meeting> enter(const CallSignature& signature, const Tensor& input, OnProgress on_progress) {
    std::unique_lock lock(group_->mutex);
    const auto number = group_->next_call[rank_]++;
    auto& meeting = group_->meetings[number];
    if (!meeting) {
      meeting = std::make_shared<Meeting>(size());
      meeting->number = number;
      meeting->signature = signature;
      meeting->first_rank = rank_;
    } else if (!(meeting->signature == signature)) {
      const auto reason = "collective " + std::to_string(number) + " is " + to_string(meeting->signature) +
                          " on rank " + std::to_string(meeting->first_rank) + " but " + to_string(signature) +
                          " on rank " + std::to_string(rank_);
      lock.unlock();
      abort(reason);
      throw Error("communicator", reason);
    }
    auto entered = meeting;
    entered->inputs[rank_] = input;
    entered->listen(rank_, std::move(on_progress));
    return entered;
  }

  std::shared_ptr<Group> group_;
  int rank_;
};

}  // namespace

std::vector<std::shared_ptr<Communicator>> make_local_group(int size) {
  if (size < 1) throw Error("communicator", "a group needs at least one rank, not " + std::to_string(size));
  const auto group = std::make_shared<Group>(size);
  std::vector<std::shared_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::make_shared<LocalCommunicator>(group, rank));
  return ranks;
}

}  // namespace troupe
