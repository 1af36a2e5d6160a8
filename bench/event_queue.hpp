#pragma once

#include <deque>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace troupe::bench {

/// Events in the order of their times, each in one of several lanes. The events of a lane are taken in the order in
/// which they were added, so only the first event of a lane competes with other lanes, and a million waiting messages
/// cost no more than a few.
template <class Event>
class EventQueue {
 public:
  explicit EventQueue(std::size_t lanes) : lanes_(lanes) {}

  bool empty() const { return firsts_.empty(); }

  /// Adds an event at a time in seconds, or at the time of the lane's last event if that is later.
  void add(std::size_t lane, double time, Event event) {
    auto& events = lanes_[lane];
    if (!events.empty() && events.back().first > time) time = events.back().first;
    if (events.empty()) firsts_.push({time, lane});
    events.emplace_back(time, std::move(event));
  }

  /// An event with its time and its lane.
  struct Next {
    double time;
    std::size_t lane;
    Event event;
  };
  /// Removes the earliest event; among several at one time, that of the lowest lane.
  Next take() {
    const auto [time, lane] = firsts_.top();
    firsts_.pop();
    auto& events = lanes_[lane];
    Next next{time, lane, std::move(events.front().second)};
    events.pop_front();
    if (!events.empty()) firsts_.push({events.front().first, lane});
    return next;
  }

 private:
  using First = std::pair<double, std::size_t>;

  std::vector<std::deque<std::pair<double, Event>>> lanes_;
  std::priority_queue<First, std::vector<First>, std::greater<>> firsts_;
};

}  // namespace troupe::bench
