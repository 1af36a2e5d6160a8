#include <caf/actor_system.hpp>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <set>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/calls/call_actors.hpp"
#include "troupe/actors/calls/call_frames.hpp"
#include "troupe/actors/calls/coordinator.hpp"
#include "troupe/actors/messages/messages.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/transport/link_reader.hpp"

namespace troupe {

namespace {

constexpr std::chrono::seconds kReadLimit{60};
constexpr std::chrono::milliseconds kPollInterval{100};
constexpr const char* kLost = "rank 0 is lost";

/// Reads the variables of the coordinator over the link to rank 0. Thread-safe.
class RemoteVariables {
 public:
  explicit RemoteVariables(std::shared_ptr<Link> link) : link_(std::move(link)) {}

  Tensor read(const std::string& name) {
    std::promise<VariableValue> promise;
    auto value = promise.get_future();
    std::int64_t number = 0;
    {
      std::lock_guard lock(mutex_);
      if (closed_) throw Error("coordinator", kLost);
      number = next_++;
      reads_.emplace(number, std::move(promise));
    }
    link_->send(call_frame(CallFrame::read, number, encode(OrderedCall{name, {}})));
    if (value.wait_for(kReadLimit) != std::future_status::ready) {
      std::lock_guard lock(mutex_);
      reads_.erase(number);
      throw Error("coordinator", "variable '" + name + "' has not come within 60 s");
    }
    auto answer = value.get();
    if (!answer.error.empty()) throw Error("coordinator", answer.error);
    return answer.value;
  }

  void take(std::int64_t number, VariableValue value) {
    std::lock_guard lock(mutex_);
    auto read = reads_.extract(number);
    if (!read.empty()) read.mapped().set_value(std::move(value));
  }

  /// Ends all open reads with an error. Later reads throw Error.
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    for (auto& [number, promise] : reads_) promise.set_value({{}, kLost});
    reads_.clear();
  }

 private:
  std::shared_ptr<Link> link_;
  std::mutex mutex_;
  std::int64_t next_ = 0;
  bool closed_ = false;
  std::map<std::int64_t, std::promise<VariableValue>> reads_;  // by number: the reads that wait for an answer
};

/// Distributes calls to worker actors that have a thread each. A call waits until an actor is free, that is executes no
/// other call. Thread-safe.
class FreeThreads {
 public:
  void add(caf::actor thread) {
    std::lock_guard lock(mutex_);
    free_.push_back(threads_.size());
    threads_.push_back(std::move(thread));
  }
  void execute(CallOrdered call) {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(call));
    assign();
  }
  void note_free(std::size_t thread) {
    std::lock_guard lock(mutex_);
    free_.push_back(thread);
    assign();
  }
  void stop() {
    std::lock_guard lock(mutex_);
    waiting_.clear();
    for (const auto& thread : std::exchange(threads_, {})) post(thread, Stop{});
  }

 private:
  void assign() {
    for (; !waiting_.empty() && !free_.empty() && !threads_.empty(); waiting_.pop_front(), free_.pop_back())
      post(threads_[free_.back()], std::move(waiting_.front()));
  }

  std::mutex mutex_;
  std::vector<caf::actor> threads_;
  std::vector<std::size_t> free_;
  std::deque<CallOrdered> waiting_;
};

/// The threads that execute calls in a worker's process, and the variables that the calls read over the link.
class Executors {
 public:
  Executors(const Runtime& runtime, CallFunctions functions, int threads, const std::shared_ptr<Link>& link)
      : link_(link), variables_(std::make_shared<RemoteVariables>(link)) {
    const auto shared_functions = std::make_shared<const CallFunctions>(std::move(functions));
    const auto read = [from = variables_](const std::string& name) { return from->read(name); };
    for (std::size_t i = 0; i < static_cast<std::size_t>(threads); ++i) {
      const auto answer = [link, i, weak = std::weak_ptr(threads_)](std::int64_t call, const CallResult& result) {
        link->send(call_frame(CallFrame::result, call, encoded(result)));
        if (const auto all = weak.lock()) all->note_free(i);
      };
      threads_->add(spawn_call_worker(runtime.system(), true, shared_functions, read, answer));
    }
  }
  ~Executors() {
    link_->close();
    variables_->close();
    threads_->stop();
  }
  Executors(const Executors&) = delete;
  Executors& operator=(const Executors&) = delete;

  /// Handles a frame from rank 0: the value of a variable, or a call. Throws Error if the frame is damaged or of
  /// another kind.
  void take(const IncomingFrame& frame) {
    const auto payload = frame.payload->tensor();
    const auto kind = static_cast<CallFrame>(frame.header.edge);
    if (kind == CallFrame::value) return variables_->take(frame.header.step, decode_value(bytes_in(payload)));
    if (kind != CallFrame::call) throw Error("coordinator", "rank 0 sent a frame of an unknown kind");
    threads_->execute({frame.header.step, std::make_shared<const OrderedCall>(decode_call(bytes_in(payload)))});
  }

 private:
  /// Encodes a result. If the result cannot be encoded, encodes one that has the error of the encoding in its place.
  static std::vector<std::byte> encoded(const CallResult& result) {
    try {
      return encode(result);
    } catch (const std::exception& error) {
      return encode(CallResult{{}, {}, error.what()});
    }
  }

  std::shared_ptr<Link> link_;
  std::shared_ptr<RemoteVariables> variables_;
  std::shared_ptr<FreeThreads> threads_ = std::make_shared<FreeThreads>();
};

}  // namespace

void serve_calls(const Runtime& runtime, const std::shared_ptr<Cluster>& cluster, CallFunctions functions,
                 const ServeOptions& options) {
  if (cluster->rank() == 0) throw Error("coordinator", "rank 0 has the coordinator, and serves no calls");
  if (options.threads < 1) throw Error("coordinator", "a worker needs at least one thread");
  std::set<int> others;
  for (int rank = 1; rank < cluster->size(); ++rank) others.insert(rank);
  cluster->set_expendable(others);
  const auto link = cluster->data_link(0, kCallLink);
  Executors executors(runtime, std::move(functions), options.threads, link);
  LinkReader reader(link);
  while (!cluster->lost()) {
    if (options.stop_requested && options.stop_requested()) return;
    const auto frame = reader.receive(kPollInterval);
    if (frame)
      executors.take(*frame);
    else if (link->failure())
      break;
  }
  const auto failure = cluster->lost() ? cluster->lost() : link->failure();
  if (failure->kind != FailureKind::aborted) throw Error("coordinator", "rank 0 is lost: " + failure->what);
}

}  // namespace troupe
