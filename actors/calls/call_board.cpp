#include "troupe/actors/calls/call_board.hpp"

#include <algorithm>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

CallBoard::CallBoard(int in_flight) : in_flight_(static_cast<std::size_t>(std::max(in_flight, 0))) {
  if (in_flight < 1)
    throw Error("coordinator", "a worker needs room for at least one call, not " + std::to_string(in_flight));
}

void CallBoard::add_worker(int worker) {
  at_.try_emplace(worker);
}

void CallBoard::lose_worker(int worker) {
  const auto lost = at_.extract(worker);
  if (lost.empty()) return;
  for (auto call = lost.mapped().rbegin(); call != lost.mapped().rend(); ++call)
    if (open_.contains(*call)) waiting_.push_front(*call);
}

std::int64_t CallBoard::schedule() {
  open_.insert(next_);
  waiting_.push_back(next_);
  return next_++;
}

std::vector<std::pair<int, std::int64_t>> CallBoard::assign() {
  std::vector<std::pair<int, std::int64_t>> assigned;
  while (!waiting_.empty() && !at_.empty()) {
    const auto freest = std::ranges::min_element(at_, {}, [](const auto& entry) { return entry.second.size(); });
    if (freest->second.size() >= in_flight_) break;
    freest->second.insert(waiting_.front());
    assigned.emplace_back(freest->first, waiting_.front());
    waiting_.pop_front();
  }
  return assigned;
}

/// Removes a call from the worker to which it is assigned, or from the waiting calls. All workers are searched: the
/// result of the call may have come from a worker that was taken for lost after the call went to another worker.
void CallBoard::remove(std::int64_t call) {
  for (auto& [worker, calls] : at_) calls.erase(call);
  std::erase(waiting_, call);
}

bool CallBoard::complete(std::int64_t call) {
  remove(call);
  return open_.erase(call) > 0;
}

std::vector<std::int64_t> CallBoard::fail(std::int64_t call) {
  remove(call);
  if (open_.erase(call) == 0) return {};
  std::vector<std::int64_t> ended{call};
  ended.insert(ended.end(), open_.begin(), open_.end());
  open_.clear();
  waiting_.clear();
  return ended;
}

}  // namespace troupe
