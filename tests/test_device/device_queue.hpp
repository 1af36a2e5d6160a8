#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "troupe/ops/core/stream.hpp"

namespace troupe::testing {

/// The event of a test device.
class QueueEvent final : public Event::State {
 public:
  bool done() const override;
  std::exception_ptr error() const override;
  bool wait_for(std::chrono::nanoseconds limit) override;
  void notify(std::function<void()> callback) override;
  std::optional<std::chrono::nanoseconds> time_since(const State& earlier) const override;

  void complete(std::exception_ptr error);

 private:
  mutable std::mutex mutex_;
  std::condition_variable completed_;
  bool done_ = false;
  std::exception_ptr error_;
  std::chrono::steady_clock::time_point completed_at_;
  std::vector<std::function<void()>> callbacks_;
};

/// Runs the work of all streams of the test devices, one piece after the other, on one thread. The pieces of one stream
/// run in order; the order between streams is random. Thread-safe.
class DeviceQueue {
 public:
  /// The work of one stream.
  struct Stream {
    explicit Stream(Device stream_device) : device(stream_device) {}
    const Device device;

   private:
    friend class DeviceQueue;
    struct Piece {
      std::function<void()> run;
      Event after;                          // the piece begins when it is complete
      std::shared_ptr<QueueEvent> reached;  // completed instead of running a function
    };
    std::deque<Piece> pieces;
    std::exception_ptr error;  // failure of the first piece that failed; later pieces are skipped
    bool closed = false;
  };

  DeviceQueue();
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  std::shared_ptr<Stream> open(Device device);
  /// Allows no further launches on the stream. Queued work runs.
  void close(Stream& stream);

  void launch(Stream& stream, std::function<void()> work);
  void wait(Stream& stream, const Event& event);
  Event record(Stream& stream);
  /// The error of the first failed piece of the stream. Null if none has failed.
  std::exception_ptr error(const Stream& stream) const;
  /// The number of records and of waits so far.
  std::size_t events() const;
  /// Events after all work that is queued now, one for every stream with work of the device, or of all devices if none
  /// is given.
  std::vector<Event> record_all(const Device* device = nullptr);

  /// hold() blocks until all queued work has run. After it, nothing runs until the last resume(), which sets the seed.
  void hold();
  void resume(std::uint64_t seed);
  /// Waits until `pieces` pieces are queued. Returns false if the limit passes.
  bool wait_until_queued(std::size_t pieces, std::chrono::nanoseconds limit);
  /// Changes the number of requests for a late begin of every piece.
  void delay(int change);

 private:
  void work();
  /// The pieces that may run now: the first piece of every stream, unless it waits for an event.
  std::vector<std::shared_ptr<Stream>> ready() const;
  void run_one(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Stream>& stream);
  void push(Stream& stream, Stream::Piece piece);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Stream>> streams_;
  int holds_ = 0, delays_ = 0;
  std::size_t events_ = 0;
  std::uint64_t seed_ = 0, drawn_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace troupe::testing
