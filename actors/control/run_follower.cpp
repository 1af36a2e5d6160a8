#include "troupe/actors/control/run_follower.hpp"

#include "troupe/actors/control/run_frames.hpp"
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

void RunFollower::post(const RunOrder& order) {
  std::lock_guard lock(mutex_);
  if (post_) post_(order);
}

void RunFollower::start(const RunInfo& run) {
  outcome_.begin();
  link_->send(frame_of(RunWord::asked, run));
  // The coordinator may have left before.
  receive();
}

void RunFollower::stop() {
  if (outcome_.running()) link_->send(frame_of(RunWord::stop));
}

void RunFollower::give_up(const FailurePtr& failure) {
  if (outcome_.settled()) return;
  post(AbortRun{failure});
  if (!outcome_.running()) return outcome_.forbid_runs(failure);
  link_->send(frame_of(RunWord::give_up, failure));
  end({Phase::failed, failure});
}

void RunFollower::close() {
  if (!outcome_.close()) return;
  link_->on_ready({});
  link_->send(frame_of(RunWord::left));
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
  receiving_.call([this] { receive_all(); });
}

void RunFollower::receive_all() {
  try {
    while (const auto frame = link_->receive()) take(*frame);
    if (const auto cause = link_->failure()) lose(cause->what);
  } catch (const std::exception& error) {
    lose(error.what());
  }
}

void RunFollower::lose(const std::string& why) {
  if (!outcome_.running()) return;
  give_up(std::make_shared<Failure>(Failure{.rank = 0,
                                            .actor = "process 0",
                                            .kind = FailureKind::part_died,
                                            .what = "[run] process 0 died or was cut off: " + why}));
}

void RunFollower::take(const IncomingFrame& frame) {
  if (word_of(frame) == RunWord::over) return end(end_of(frame));
  post(order_of(frame));
}

void RunFollower::end(const RunEnd& end) {
  if (outcome_.end(end)) outcome_.call_back();
}

}  // namespace troupe
