#include "troupe/bench/linked_program.hpp"

#include <algorithm>

namespace troupe::bench {

namespace {

using linked::chunk_of;
using linked::chunks_of;
using linked::inputs;
using linked::results;

constexpr auto kType = DType::float32;

std::int64_t bytes_of(std::int64_t elements) {
  return elements * static_cast<std::int64_t>(size_of(kType));
}

bool is_eager(std::int64_t elements) {
  return bytes_of(elements) <= static_cast<std::int64_t>(linked::kEagerBytes);
}

}  // namespace

PartSizes all_reduce_sizes(std::int64_t elements, int ranks, int rank) {
  if (bytes_of(elements) <= static_cast<std::int64_t>(linked::kSmallBytes)) {
    const auto all = [elements](int) { return elements; };
    return {all, all};
  }
  const auto slice = [=](int of) { return slice_of(elements, ranks, of).count; };
  return {slice, [mine = slice(rank)](int) { return mine; }, slice};
}

PartSizes broadcast_sizes(std::int64_t elements, int rank) {
  return {[=](int) { return rank == 0 ? elements : 0; }, [=](int from) { return from == 0 ? elements : 0; }, {}, false};
}

PartSizes check_sizes() {
  // Four integers of 64 bits.
  const auto all = [](int) { return std::int64_t{8}; };
  return {all, all, {}, false};
}

LinkedProgram::LinkedProgram(const Members& members, int rank, PartSizes sizes)
    : members_(members),
      rank_(rank),
      sizes_(std::move(sizes)),
      ready_(static_cast<std::size_t>(members.ranks)),
      input_sent_(static_cast<std::size_t>(members.ranks)),
      inputs_from_(static_cast<std::size_t>(members.ranks)) {
  for (int from = 0; from < members_.ranks; ++from) {
    const auto chunks = chunks_of(sizes_.elements_from(from), kType);
    senders_.resize(std::max(senders_.size(), chunks));
    if (from == rank_) continue;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) ++senders_[chunk];
    if (sizes_.result_of) results_missing_ += chunks_of(sizes_.result_of(from), kType);
  }
  arrived_.resize(senders_.size());
}

Message LinkedProgram::message(int to, linked::Phase phase, std::int64_t elements) const {
  const auto global = [this](int of) { return members_.first + of * members_.stride; };
  return {.from = global(rank_),
          .to = global(to),
          .bytes = bytes_of(elements),
          .phase = static_cast<std::uint8_t>(phase),
          .stage = members_.stage,
          .check = members_.check};
}

void LinkedProgram::begin(RankActions& actions) {
  bool large = false;
  for (int from = 0; from < members_.ranks; ++from) large = large || !is_eager(sizes_.elements_from(from));
  for (int distance = 1; distance < members_.ranks; ++distance) {
    const int to = (rank_ + distance) % members_.ranks;
    auto word = message(to, inputs, 0);
    word.ready = true;
    if (large) actions.send(word);
    if (ready_[to] || is_eager(sizes_.input_for(to))) unsent_.push_back(to);
  }
  send_inputs(actions);
}

void LinkedProgram::take(const Message& message) {
  const auto from = member(message.from);
  if (message.ready) {
    ready_[from] = true;
    unsent_.push_back(from);
  } else if (message.phase == inputs) {
    ++arrived_[inputs_from_[from]++];
  } else {
    results_.push_back(message);
  }
}

void LinkedProgram::send_part(RankActions& actions, int to, linked::Phase phase, std::int64_t elements) const {
  for (std::size_t chunk = 0; chunk < chunks_of(elements, kType); ++chunk) {
    auto part = message(to, phase, chunk_of(elements, kType, chunk).count);
    // The results of the other ranks imply that they have read this part.
    part.awaited = !sizes_.result_of;
    actions.send(part);
  }
}

/// Sends inputs to all ranks that have room, from the next rank on.
void LinkedProgram::send_inputs(RankActions& actions) {
  const auto distance = [this](int to) { return (to - rank_ + members_.ranks) % members_.ranks; };
  std::ranges::sort(unsent_, {}, distance);
  for (const auto to : unsent_) {
    if (input_sent_[to]) continue;
    input_sent_[to] = true;
    send_part(actions, to, inputs, sizes_.input_for(to));
  }
  unsent_.clear();
}

bool LinkedProgram::advance(RankActions& actions) {
  send_inputs(actions);
  combine_chunks(actions);
  take_results(actions);
  return combined_ == senders_.size() && results_missing_ == 0 && actions.all_read(members_.stage);
}

void LinkedProgram::combine_chunks(RankActions& actions) {
  for (; combined_ < senders_.size() && arrived_[combined_] == senders_[combined_]; ++combined_) combine(actions);
}

/// Adds the arrived inputs of a chunk, releases them, and sends the result.
void LinkedProgram::combine(RankActions& actions) {
  std::vector<Message> used;
  std::int64_t largest = 0, bytes = 0;
  for (int from = 0; from < members_.ranks; ++from) {
    const auto elements = sizes_.elements_from(from);
    if (combined_ >= chunks_of(elements, kType)) continue;
    const auto count = chunk_of(elements, kType, combined_).count;
    largest = std::max(largest, count);
    if (from == rank_) continue;
    auto from_them = message(from, inputs, count);
    std::swap(from_them.from, from_them.to);
    from_them.awaited = !sizes_.result_of;
    used.push_back(from_them);
    bytes += from_them.bytes;
    sizes_.sums ? actions.read(from_them) : actions.copy(from_them);
  }
  if (sizes_.sums) actions.add(bytes + bytes_of(largest));
  for (const auto& part : used) actions.release(part);
  if (sizes_.result_of) send_result(actions, largest);
}

void LinkedProgram::send_result(RankActions& actions, std::int64_t elements) const {
  const bool staged = bytes_of(elements) <= static_cast<std::int64_t>(linked::kStagedBytes);
  if (staged) actions.add(2 * bytes_of(elements));
  for (int distance = 1; distance < members_.ranks; ++distance) {
    auto result = message((rank_ + distance) % members_.ranks, results, elements);
    result.awaited = !staged;
    actions.send(result);
  }
}

void LinkedProgram::take_results(RankActions& actions) {
  std::stable_sort(results_.begin(), results_.end(),
                   [](const Message& a, const Message& b) { return a.from < b.from; });
  for (const auto& result : results_) {
    actions.copy(result);
    actions.release(result);
    --results_missing_;
  }
  results_.clear();
}

RingProgram::RingProgram(int ranks, int rank, std::int64_t elements)
    : ranks_(ranks),
      rank_(rank),
      steps_(2 * (ranks - 1)),
      next_((rank + 1) % ranks),
      previous_((rank + ranks - 1) % ranks),
      elements_(elements) {}

std::int64_t RingProgram::slice(int step_back) const {
  return slice_of(elements_, ranks_, ((rank_ - step_back) % ranks_ + ranks_) % ranks_).count;
}

void RingProgram::send(RankActions& actions, std::int64_t elements) const {
  actions.send({rank_, next_, bytes_of(elements)});
}

void RingProgram::begin(RankActions& actions) {
  if (steps_ > 0) actions.send({rank_, previous_, 0, true});
}

void RingProgram::take(const Message& message) {
  if (message.ready)
    ready_ = true;
  else
    arrived_.push_back(message);
}

void RingProgram::send_first(RankActions& actions) {
  if (first_sent_) return;
  first_sent_ = true;
  const auto first = slice(0);
  for (std::size_t chunk = 0; chunk < chunks_of(first, kType); ++chunk)
    send(actions, chunk_of(first, kType, chunk).count);
}

bool RingProgram::advance(RankActions& actions) {
  if (steps_ == 0) return true;
  if (!ready_) return false;
  send_first(actions);
  for (const auto& message : arrived_) take_chunk(actions, message);
  arrived_.clear();
  return step_ == steps_ && actions.all_read(0);
}

/// Adds or copies a chunk, and passes it on.
void RingProgram::take_chunk(RankActions& actions, const Message& message) {
  const auto whole = slice(step_ + 1);
  if (step_ < ranks_ - 1) {
    actions.read(message);
    actions.add(2 * message.bytes);
  } else {
    actions.copy(message);
  }
  if (step_ + 1 < steps_) send(actions, chunk_of(whole, kType, chunk_).count);
  actions.release(message);
  if (++chunk_ < chunks_of(whole, kType)) return;
  chunk_ = 0;
  ++step_;
}

}  // namespace troupe::bench
