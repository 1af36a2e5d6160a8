#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "troupe/actors/shard/consistency_rule.hpp"
#include "troupe/ops/core/shape.hpp"
#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// One decision of a shard on the requests and gradients of its workers. The order of the events determines the
/// versions of the parameters that each worker gets, and every update.
struct ShardEvent {
  enum class Kind : std::int32_t {
    answer,  ///< one worker gets parameters
    update,  ///< the gradients of these workers, in ascending order, make one update
    drop,    ///< the gradient of one worker is dropped
  };
  Kind kind = Kind::answer;
  std::vector<int> workers = {};

  bool operator==(const ShardEvent&) const = default;
  /// Whether the event is valid: an update has at least one worker, an answer or a drop has exactly one.
  bool is_whole() const;

  /// The tensor in which an event travels: the kind, then for each of the `workers` workers 1 if the event has the
  /// worker, else 0.
  static TensorInfo info(int workers) { return {Shape{1 + workers}, DType::int32}; }
  Tensor encode(int workers) const;
  /// Throws Error if the tensor is no event.
  static ShardEvent decode(const Tensor& tensor);

  /// The event in a recording: the kind, the number of workers, and the workers.
  std::vector<std::int32_t> numbers() const;
  /// Reads the events of a recording. Throws Error if the numbers are no events.
  static std::vector<ShardEvent> from_numbers(std::span<const std::int32_t> numbers);
};

/// Decides the next event of a shard: by the shard's ConsistencyRule, or as the leading shard (the one that decides for
/// all shards) or a recording has decided. A ShardProtocol keeps the state of requests and gradients; it has no access
/// to actors and tensors.
///
/// A worker sends every shard a request for parameters, with the same sequence number. After a shard's answer the
/// worker's gradient is in flight at that shard until the gradient is applied or dropped. A worker has at most one
/// gradient in flight at a shard.
///
/// With LateGradients::awaited no gradient is dropped. Let v be the current version. The gradients in flight, oldest
/// first, can be applied in the versions v, v + 1, ...; an answer or an update waits if a gradient would afterwards
/// exceed the bound in this order. If fewer gradients can be in flight than there are workers, all shards answer in the
/// order of the sequence numbers: in different orders, two shards could each wait for a worker that the other one has
/// not answered.
///
/// A lost worker gets no further answers. Its gradient in flight is applied if it has arrived, and dropped otherwise.
/// Another worker then computes the batch again if some shard has not got the gradient. A shard that has got it answers
/// the new request, too, and drops the new gradient.
class ShardProtocol {
 public:
  /// The shard decides by the rule, or repeats the events given to follow(), in their order.
  enum class Mode { decides, follows };

  explicit ShardProtocol(const ConsistencyRule& rule, Mode mode = Mode::decides);

  /// Begins a run, with this version of the parameters and this first sequence number.
  void begin(std::int64_t version, std::int64_t first_number);
  std::int64_t version() const { return version_; }

  /// Notes that a request of a worker has arrived. Returns false for a lost worker, which gets no answer. If `counts`
  /// is false, the gradient of the request is dropped when it arrives. Throws Error if another request has the sequence
  /// number.
  bool requested(int worker, std::int64_t number, bool counts = true);
  /// Notes that no further request arrives in this run.
  void requests_ended() { requests_ended_ = true; }
  /// Notes that the gradient of a worker has arrived. Throws Error if the worker has no gradient in flight, or if that
  /// gradient has arrived already.
  void pushed(int worker);
  /// Notes that a worker was lost: nothing more arrives from it in this run.
  void lost(int worker);
  /// Adds an event for Mode::follows. The shard repeats the events in the order of these calls.
  void follow(ShardEvent event) { to_follow_.push_back(std::move(event)); }

  /// Returns the next event, if one is possible now, after noting its effects; an update increments the version.
  /// `has_room` returns whether the shard can send parameters to a worker now: the output to the worker has a free
  /// slot, and all inputs that the answer needs have arrived. Other workers are not answered.
  std::optional<ShardEvent> next(const std::function<bool(int worker)>& has_room);
  /// The staleness of each gradient of the last event: the number of updates between the answer and the event.
  /// Gradients that have not arrived or do not count are left out.
  const std::vector<std::int64_t>& staleness() const { return staleness_; }

 private:
  struct InFlight {
    int worker;
    std::int64_t version;
    bool counts = true;
    bool arrived = false;
  };
  struct Request {
    int worker;
    bool counts;
  };

  std::optional<ShardEvent> decide(const std::function<bool(int)>& has_room) const;
  std::optional<int> to_drop() const;
  std::vector<int> to_apply() const;
  std::optional<int> to_answer(const std::function<bool(int)>& has_room) const;
  bool can_follow(const ShardEvent& event, const std::function<bool(int)>& has_room) const;
  void carry_out(const ShardEvent& event);
  void carry_out_answer(int worker);
  void pass_over(std::int64_t number);
  void note_answered(std::int64_t number);
  bool is_late(const InFlight& gradient) const;
  bool keeps_bounds(const std::vector<InFlight>& in_flight, std::int64_t version) const;
  std::size_t gradients_of_update() const;
  const InFlight* in_flight_of(int worker) const;
  const std::pair<const std::int64_t, Request>* request_of(int worker) const;

  ConsistencyRule rule_;
  Mode mode_;
  bool answers_in_order_;  // answers follow the order of the sequence numbers
  std::int64_t version_ = 0;
  std::int64_t next_number_ = 0;
  bool requests_ended_ = false;
  std::map<std::int64_t, Request> requests_;  // by sequence number
  std::set<std::int64_t> passed_over_;        // sequence numbers of requests of lost workers
  std::set<int> lost_;
  std::vector<InFlight> in_flight_;  // in the order of their answers, and so of their versions
  std::deque<ShardEvent> to_follow_;
  std::vector<std::int64_t> staleness_;
};

}  // namespace troupe
