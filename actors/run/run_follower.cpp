#include "troupe/actors/run/run_follower.hpp"

#include "troupe/actors/run/run_frames.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

void RunFollower::listen() {
  link_->on_ready([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->receive();
  });
}

int RunFollower::join(Post post, bool) {
  std::lock_guard lock(mutex_);
  post_ = std::move(post);
  return 0;
}

void RunFollower::leave(int) {
  std::lock_guard lock(mutex_);
  post_ = nullptr;
}

void RunFollower::start(const RunInfo& run) {
  {
    std::lock_guard lock(mutex_);
    if (end_.phase == Phase::running) throw Error("plan", "a run is in progress already");
    if (const auto cause = end_.failure ? end_.failure : broken_)
      throw Error("plan", "cannot run again after a failure: " + to_string(*cause));
    end_ = {Phase::running, nullptr};
  }
  link_->send(frame_of(RunWord::asked, run));
  // The coordinator may have gone before.
  receive();
}

void RunFollower::stop() {
  if (phase() == Phase::running) link_->send(frame_of(RunWord::stop));
}

void RunFollower::give_up(const FailurePtr& failure) {
  {
    std::lock_guard lock(mutex_);
    if (closed_ || end_.phase == Phase::failed) return;
    if (post_) post_(AbortRun{failure});
    if (end_.phase != Phase::running) {
      // A run that has ended well stays so; none can follow.
      if (!broken_) broken_ = failure;
      return;
    }
  }
  link_->send(frame_of(RunWord::give_up, failure));
  end({Phase::failed, failure});
}

void RunFollower::close() {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
  }
  link_->on_ready({});
  link_->send(frame_of(RunWord::left));
  on_over_.set({});
}

RunControl::Phase RunFollower::phase() const {
  std::lock_guard lock(mutex_);
  return end_.phase;
}

bool RunFollower::drained() const {
  std::lock_guard lock(mutex_);
  return end_.drained;
}

bool RunFollower::stopped() const {
  std::lock_guard lock(mutex_);
  return end_.stopped;
}

FailurePtr RunFollower::failure() const {
  std::lock_guard lock(mutex_);
  return end_.failure;
}

bool RunFollower::wait_for(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return end_.phase != Phase::running; });
}

void RunFollower::wired(int) {
  link_->send(frame_of(RunWord::wired));
}

void RunFollower::prepared(int, std::int64_t end_step) {
  link_->send(frame_of(RunWord::prepared, end_step));
}

void RunFollower::paused(int, std::uint64_t run, std::int64_t next_step) {
  link_->send(frame_of(RunWord::paused, next_step, run));
}

void RunFollower::finished(int) {
  link_->send(frame_of(RunWord::finished));
}

void RunFollower::failed(const FailurePtr& failure) {
  link_->send(frame_of(RunWord::failed, failure));
}

void RunFollower::receive() {
  std::lock_guard lock(receiving_);
  try {
    while (const auto frame = link_->receive()) take(*frame);
    if (const auto cause = link_->failure()) lose(cause->what);
  } catch (const std::exception& error) {
    lose(error.what());
  }
}

void RunFollower::lose(const std::string& why) {
  if (phase() != Phase::running) return;
  give_up(std::make_shared<Failure>(Failure{.rank = 0,
                                            .actor = "process 0",
                                            .kind = FailureKind::part_died,
                                            .what = "[run] process 0 died or was cut off: " + why}));
}

void RunFollower::take(const IncomingFrame& frame) {
  if (word_of(frame) == RunWord::over) return end(end_of(frame));
  const auto order = order_of(frame);
  std::lock_guard lock(mutex_);
  if (post_) post_(order);
}

void RunFollower::end(const RunEnd& end) {
  {
    std::lock_guard lock(mutex_);
    if (end_.phase == Phase::failed || closed_) return;
    end_ = end;
    changed_.notify_all();
  }
  on_over_.call();
}

}  // namespace troupe
