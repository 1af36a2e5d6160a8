#pragma once

#include <memory>
#include <mutex>

#include "troupe/actors/control/run_control.hpp"
#include "troupe/actors/threads/one_at_a_time.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

/// The run control of every process but rank 0: passes the reports of its part to the coordinator over a link, and the
/// coordinator's orders to its part.
class RunFollower final : public RunControl, public std::enable_shared_from_this<RunFollower> {
 public:
  explicit RunFollower(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  /// Begins to receive. To be called once this is held by a shared_ptr.
  void listen();

  int join(Post post, bool has_sources) override;
  void leave(int part) override;

  void start(const RunInfo& run) override;
  void stop() override;
  void give_up(const FailurePtr& failure) override;
  void close() override;

  void wired(int part) override;
  void prepared(int part, std::int64_t end_step) override;
  void paused(int part, std::uint64_t run, std::int64_t next_step) override;
  void finished(int part) override;
  void failed(const FailurePtr& failure) override;

 private:
  void receive();
  void receive_all();
  void take(const IncomingFrame& frame);
  void lose(const std::string& why);
  void post(const RunOrder& order);
  void end(const RunEnd& end);

  const std::shared_ptr<Link> link_;
  OneAtATime receiving_;  // a callback at the end of a run may start the next run
  std::mutex mutex_;
  Post post_;
};

}  // namespace troupe
