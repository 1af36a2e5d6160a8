#include "troupe/strategies/training/batching_predictor.hpp"

#include <algorithm>
#include <atomic>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <cstring>
#include <deque>
#include <mutex>
#include <span>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/signals_blocked.hpp"

namespace troupe {

/// A call of predict(): the rows, their number, and the promise of the result. It is not in the anonymous namespace
/// because it is a member of Shared, which has external linkage.
struct PredictionRequest {
  Predictor::Arrays rows;
  std::int64_t count;
  std::promise<Tensor> answer;
};

namespace {

constexpr std::chrono::hours kLongestWait{1};
constexpr int kMostActors = 1'024;

using Arrays = Predictor::Arrays;

/// Returns the rows of one field of all requests, in the order of the requests.
Tensor joined(std::span<const PredictionRequest> requests, const Field& field, std::int64_t rows) {
  Tensor all(field.info.shape.with_first(rows), field.info.dtype);
  auto* to = all.bytes() > 0 ? all.mutable_raw() : nullptr;
  for (const auto& request : requests)
    for (const auto& [name, array] : request.rows) {
      if (name != field.name || array.bytes() == 0) continue;
      std::memcpy(to, array.raw(), array.bytes());
      to += array.bytes();
    }
  return all;
}

}  // namespace

/// The state that the callers share with the actors: the queue of requests and its limits. Messages carry no requests;
/// they only wake the actors.
struct BatchingPredictor::Shared {
  BatchingOptions options;
  mutable std::mutex mutex;
  std::deque<PredictionRequest> requests;
  std::int64_t waiting_rows = 0;
  bool closed = false;
  std::vector<caf::actor> actors;
  std::atomic<std::size_t> next_actor{0};
  std::atomic<std::int64_t> batches{0};
  /// The first actor's predictor. Callers use only fields() and rows_of(), which are thread-safe.
  std::shared_ptr<const Predictor> fields;

  /// Lets the actors quit once they have answered all requests.
  void close() {
    std::vector<caf::actor> closed_actors;
    {
      std::lock_guard lock(mutex);
      closed = true;
      // The actors hold this object. If it held the actors any longer, neither would ever be destroyed.
      closed_actors.swap(actors);
    }
    for (const auto& actor : closed_actors) post(actor, caf::flush_atom_v);
  }

  /// Removes and returns the oldest requests that have at most most_rows rows together, at least one. Returns none
  /// while the queue has fewer rows, unless the oldest request has waited for longest_wait, which `overdue` says, or
  /// the predictor is closed.
  std::vector<PredictionRequest> take(bool overdue) {
    std::lock_guard lock(mutex);
    std::vector<PredictionRequest> taken;
    if (requests.empty() || (waiting_rows < options.most_rows && !overdue && !closed)) return taken;
    for (std::int64_t rows = 0; !requests.empty();) {
      rows += requests.front().count;
      if (!taken.empty() && rows > options.most_rows) break;
      waiting_rows -= requests.front().count;
      taken.push_back(std::move(requests.front()));
      requests.pop_front();
    }
    return taken;
  }
};

namespace {

/// Answers the request by the current exception. A request that already has its answer keeps it.
void fail(PredictionRequest& request) {
  try {
    request.answer.set_exception(std::current_exception());
  } catch (const std::future_error&) {
  }
}

/// Predicts the rows of all requests in one batch, and answers each request. Throws like Predictor::predict().
void answer_together(Predictor& predictor, const std::string& output, std::span<PredictionRequest> requests) {
  std::int64_t rows = 0;
  for (const auto& request : requests) rows += request.count;
  Arrays all;
  for (const auto& field : predictor.fields()) all.emplace_back(field.name, joined(requests, field, rows));
  const auto result = predictor.predict(all, output);
  std::int64_t first = 0;
  for (auto& request : requests) {
    request.answer.set_value(result.rows(first, request.count).host_copy());
    first += request.count;
  }
}

/// Answers each request, by an exception if the prediction fails. If a row of one request cannot be used, the requests
/// are predicted one by one: the others are answered, and the error names the row in its request.
void answer(Predictor& predictor, const std::string& output, std::span<PredictionRequest> requests) {
  try {
    answer_together(predictor, output, requests);
  } catch (const InvalidSample&) {
    if (requests.size() == 1) return fail(requests.front());
    for (auto& request : requests) answer(predictor, output, {&request, 1});
  } catch (...) {
    for (auto& request : requests) fail(request);
  }
}

}  // namespace

BatchingPredictor::BatchingPredictor(const Runtime& runtime, const Trainer& trainer, const std::vector<Field>& fields,
                                     BatchingOptions options)
    : runtime_(runtime), shared_(std::make_shared<Shared>()) {
  if (options.most_rows < 1) throw Error("predictor", "a batch needs at least one row");
  if (options.longest_wait.count() < 0) throw Error("predictor", "the longest wait must not be negative");
  if (options.longest_wait > kLongestWait) throw Error("predictor", "the longest wait must be at most an hour");
  if (options.actors < 1) throw Error("predictor", "needs at least one actor");
  if (options.actors > kMostActors)
    throw Error("predictor",
                "can have at most " + std::to_string(kMostActors) + " actors, not " + std::to_string(options.actors));
  shared_->options = options;
  const PredictorOptions of_actor{.prepared = static_cast<std::size_t>(options.most_rows)};
  std::vector<std::shared_ptr<Predictor>> predictors;
  for (int i = 0; i < options.actors; ++i) predictors.push_back(std::make_shared<Predictor>(trainer, fields, of_actor));
  predictors[0]->expect_rows(options.output);
  shared_->fields = predictors[0];
  try {
    spawn_actors(predictors);
  } catch (...) {
    // No destructor runs for the actors that have been spawned.
    shared_->close();
    throw;
  }
}

void BatchingPredictor::spawn_actors(const std::vector<std::shared_ptr<Predictor>>& predictors) {
  // The message tick says that the queue has the rows of a batch. The message flush says that the oldest request has
  // waited for longest_wait, or that the predictor is closed.
  // Each actor has a thread of its own, since a prediction may wait for a step boundary of a fit, whose actors need the
  // threads of the runtime.
  const SignalsBlocked blocked;
  for (const auto& predictor : predictors) {
    runtime_.check_thread();
    shared_->actors.push_back(
        runtime_.system().spawn<caf::detached>([predictor, shared = shared_](caf::event_based_actor* self) {
          const auto work = [predictor, shared, self](bool overdue) {
            for (auto taken = shared->take(overdue); !taken.empty(); taken = shared->take(overdue)) {
              ++shared->batches;
              answer(*predictor, shared->options.output, taken);
            }
            std::lock_guard lock(shared->mutex);
            if (shared->closed && shared->requests.empty()) self->quit();
          };
          return caf::behavior{[work](caf::tick_atom) { work(false); }, [work](caf::flush_atom) { work(true); }};
        }));
  }
}

BatchingPredictor::~BatchingPredictor() {
  shared_->close();
}

std::future<Tensor> BatchingPredictor::predict(const Arrays& rows) {
  const auto count = shared_->fields->rows_of(rows);
  // The arrays are copied, because the caller may change them before an actor reads them.
  Arrays copies;
  for (const auto& field : shared_->fields->fields())
    copies.emplace_back(field.name,
                        std::ranges::find(rows, field.name, &Arrays::value_type::first)->second.to(Device{}));
  std::future<Tensor> answer;
  bool first = false, full = false;
  {
    std::lock_guard lock(shared_->mutex);
    first = shared_->requests.empty();
    auto& request = shared_->requests.emplace_back(PredictionRequest{std::move(copies), count, {}});
    answer = request.answer.get_future();
    shared_->waiting_rows += count;
    full = shared_->waiting_rows >= shared_->options.most_rows;
  }
  const auto& actor = shared_->actors[shared_->next_actor++ % shared_->actors.size()];
  // The first request in an empty queue posts a delayed flush message, which also limits the wait of the requests that
  // follow it in the queue.
  if (first) post(actor, caf::flush_atom_v, shared_->options.longest_wait);
  if (full) post(actor, caf::tick_atom_v);
  return answer;
}

std::int64_t BatchingPredictor::batches() const {
  return shared_->batches;
}

}  // namespace troupe
