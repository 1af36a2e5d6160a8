#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "troupe/actors/run/over_callback.hpp"
#include "troupe/actors/run/run_coordinator.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

/// The run control of a process that has not the first part of a plan: passes on what its part reports to the
/// coordinator over a link, and the coordinator's orders to its part.
class RunFollower final : public RunControl, public std::enable_shared_from_this<RunFollower> {
 public:
  explicit RunFollower(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  /// To be called once it is held by a shared_ptr.
  void listen();

  int join(Post post, bool has_sources) override;
  void leave(int part) override;

  void start(const RunInfo& run) override;
  void stop() override;
  void give_up(const FailurePtr& failure) override;
  void close() override;

  Phase phase() const override;
  bool drained() const override;
  bool stopped() const override;
  FailurePtr failure() const override;
  bool wait_for(std::chrono::milliseconds limit) override;
  void on_over(std::function<void()> callback) override { on_over_.set(std::move(callback)); }

  void wired(int part) override;
  void prepared(int part, std::int64_t end_step) override;
  void paused(int part, std::uint64_t run, std::int64_t next_step) override;
  void finished(int part) override;
  void failed(const FailurePtr& failure) override;

 private:
  void receive();
  void take(const IncomingFrame& frame);
  void lose(const std::string& why);
  void end(const RunEnd& end);

  const std::shared_ptr<Link> link_;
  std::recursive_mutex receiving_;  // whoever is told of the end may start the next run
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Post post_;
  OverCallback on_over_;
  RunEnd end_;
  FailurePtr broken_;  // between two runs
  bool closed_ = false;
};

}  // namespace troupe
