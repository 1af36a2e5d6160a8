#include "troupe/transport/linked/linked_work.hpp"

#include <algorithm>

#include "troupe/transport/linked/numbered_work.hpp"

namespace troupe::linked {

namespace {

/// The work of one rank in a collective in which every rank sends a part, which may be empty, to every other rank.
class LinkedWork final : public NumberedWork {
 public:
  LinkedWork(std::shared_ptr<RankState> rank_state, const CallSignature& call, Steps steps)
      : NumberedWork(std::move(rank_state), call),
        steps_(std::move(steps)),
        input_sent_(static_cast<std::size_t>(state().ranks())),
        results_(static_cast<std::size_t>(state().ranks())) {}

  std::string waits_for(std::size_t /*local*/) const override {
    const auto rank = "rank " + std::to_string(waiting_for_);
    switch (waiting_) {
      case Waiting::nothing:
        return "nothing";
      case Waiting::for_input:
        return to_string(signature()) + ": " + rank + " has not come";
      case Waiting::for_result:
        return to_string(signature()) + ": " + rank + " has not summed its slice";
      case Waiting::for_reader:
        return to_string(signature()) + ": another rank has not read its part";
    }
    return {};
  }

 private:
  enum class Waiting { nothing, for_input, for_result, for_reader };

  void begin_steps() override {
    bool large = false;
    for (int other = 0; other < state().ranks(); ++other) {
      const auto elements = steps_.elements_from(other);
      chunks_ = std::max(chunks_, chunks_of(elements));
      large = large ||
              elements * static_cast<std::int64_t>(size_of(signature().dtype)) > static_cast<std::int64_t>(kEagerBytes);
    }
    arrived().most_parts = chunks_;
    if (large)
      for (const int to : state().others()) send_ready(to);
    send_inputs();
  }

  bool advance_steps() override {
    send_inputs();
    const bool combined = combine_chunks();
    const bool taken = !steps_.result_of || take_results();
    if (!combined || !taken) return false;
    waiting_ = Waiting::for_reader;
    if (!all_read()) return false;
    waiting_ = Waiting::nothing;
    return true;
  }

  void release() override { steps_ = {}; }

  /// Sends the inputs that were not sent yet: parts of at most kEagerBytes at once, larger parts to the ranks whose
  /// frame of type collective_ready has arrived.
  void send_inputs() {
    const auto& ready = arrived().ready;
    for (const int to : state().others()) {
      if (input_sent_[to]) continue;
      const auto part = steps_.input_for(to);
      if (part.bytes() > kEagerBytes && !ready[to]) continue;
      input_sent_[to] = true;
      for (std::size_t number = 0; number < chunks_of(part.elements()); ++number) {
        const auto chunk = part_of(part, chunk_of(part.elements(), number));
        // In a collective with phase `results` the work does not wait until other ranks have read the inputs: a rank
        // that has sent its result has read them.
        if (steps_.result_of)
          send_unawaited(to, inputs, chunk);
        else
          send(to, inputs, chunk);
      }
    }
  }

  /// Combines, in order, the chunks that have come from all ranks that send them, up to the first chunk that a rank has
  /// not sent. Returns true once all chunks are combined.
  bool combine_chunks() {
    auto& parts = arrived().parts[inputs];
    for (; combined_ < chunks_; ++combined_) {
      Inputs chunk_inputs(parts.size());
      Slice chunk{};
      int missing = -1;
      for (int from = state().ranks() - 1; from >= 0; --from) {
        const auto elements = steps_.elements_from(from);
        if (combined_ >= chunks_of(elements)) continue;
        const auto theirs = chunk_of(elements, combined_);
        if (theirs.count > chunk.count) chunk = theirs;
        if (from == state().rank()) continue;
        if (parts[from].empty()) {
          wait_for(missing = from, Waiting::for_input);
          continue;
        }
        chunk_inputs[from] = &expect_chunk(parts[from].front(), from, theirs.count);
      }
      if (missing >= 0) return false;
      combine(chunk, chunk_inputs);
    }
    return true;
  }

  void combine(const Slice& chunk, const Inputs& chunk_inputs) {
    if (steps_.combine) steps_.combine(chunk, chunk_inputs);
    auto& parts = arrived().parts[inputs];
    for (int other = 0; other < state().ranks(); ++other)
      if (chunk_inputs[other] != nullptr) parts[other].pop_front();
    if (steps_.result_of) send_to_all(results, part_of(steps_.result_of(state().rank()), chunk));
  }

  bool take_results() {
    auto& parts = arrived().parts[results];
    int missing = -1;
    for (int from = 0; from < state().ranks(); ++from) {
      if (from == state().rank()) continue;
      const auto place = steps_.result_of(from);
      for (; results_[from] < chunks_of(place.elements()) && !parts[from].empty(); ++results_[from]) {
        const auto chunk = chunk_of(place.elements(), results_[from]);
        read(expect_chunk(parts[from].front(), from, chunk.count), part_of(place, chunk));
        parts[from].pop_front();
      }
      if (missing < 0 && results_[from] < chunks_of(place.elements())) missing = from;
    }
    if (missing >= 0 && combined_ == chunks_) wait_for(missing, Waiting::for_result);
    return missing < 0;
  }

  void wait_for(int rank, Waiting why) {
    state().expect_alive(rank);
    waiting_for_ = rank;
    waiting_ = why;
  }

  Steps steps_;
  std::vector<bool> input_sent_;      // by rank
  std::vector<std::size_t> results_;  // the number of chunks of results that were taken, by rank
  std::size_t combined_ = 0, chunks_ = 1;
  Waiting waiting_ = Waiting::nothing;
  int waiting_for_ = -1;
};

}  // namespace

std::shared_ptr<Work> begin_linked(std::shared_ptr<RankState> state, const CallSignature& signature, Steps steps) {
  auto work = std::make_shared<LinkedWork>(std::move(state), signature, std::move(steps));
  work->begin();
  return work;
}

}  // namespace troupe::linked
