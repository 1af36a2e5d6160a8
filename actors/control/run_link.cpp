#include "troupe/actors/control/run_link.hpp"

#include <atomic>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/link_reader.hpp"

namespace troupe {

namespace {

/// Returns the failure of a run whose link to `process` has failed: the cause itself if it names a lost process.
FailurePtr cut_off(int process, const FailurePtr& why) {
  if (why->rank >= 0 && why->kind == FailureKind::part_died) return why;
  return failure_of_process(process, "[run] process " + std::to_string(process) + " died or was cut off: " + why->what,
                            why);
}

}  // namespace

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
  if (std::holds_alternative<PrepareRun>(order)) begun_ = true;
  std::lock_guard lock(mutex_);
  if (post_) post_(order);
}

void RunFollower::start(const RunInfo& run) {
  outcome_.begin();
  begun_ = false;
  link_->send(frame_of(RunWord::asked, run));
  // The link may have failed between runs, when receive() reports no failure. This call then fails the run.
  receive();
}

void RunFollower::stop() {
  if (outcome_.running()) link_->send(frame_of(RunWord::stop));
}

void RunFollower::interrupt() {
  if (outcome_.running()) link_->send(frame_of(RunWord::interrupt));
}

void RunFollower::give_up(const FailurePtr& failure) {
  if (outcome_.settled()) return;
  post(AbortRun{failure});
  const bool running = outcome_.running();
  // Between two runs, rank 0 passes the failure on to the other processes, which may have started the next run.
  if (!running && !outcome_.forbid_runs(failure)) return;
  link_->send(frame_of(RunWord::give_up, failure));
  if (running) end({Phase::failed, failure});
}

void RunFollower::close() {
  if (!outcome_.close()) return;
  link_->on_ready({});
  link_->send(frame_of(RunWord::left));
}

void RunFollower::receive() {
  const auto take = [this](const IncomingFrame& frame) {
    word_of(frame) == RunWord::over ? end(end_of(frame)) : post(order_of(frame));
  };
  const auto lose = [this](const FailurePtr& why) {
    if (outcome_.running()) give_up(cut_off(0, why));
  };
  receiving_.call([&] { receive_all(*link_, take, lose); });
}

void RunFollower::end(const RunEnd& end) {
  if (outcome_.end(end)) outcome_.call_back();
}

struct RemotePart::State {
  std::shared_ptr<RunCoordinator> coordinator;
  std::shared_ptr<Link> link;
  int process;
  bool has_sources;
  RunCoordinator::Attendance attendance;
  int part = -1;
  OneAtATime receiving;
  std::atomic<bool> gone = false;

  void receive() {
    receiving.call([this] {
      if (gone) return;
      receive_all(
          *link, [this](const auto& frame) { take(frame); }, [this](const auto& why) { lose(why); });
    });
  }

  void lose(const FailurePtr& why) {
    gone = true;
    expendable() ? lose_part() : coordinator->give_up(cut_off(process, why));
  }

  bool expendable() const { return attendance != RunCoordinator::Attendance::needed; }

  void lose_part() const {
    if (part >= 0) coordinator->lose(part);
  }

  void join() {
    const auto post = [to = link](const RunOrder& order) { to->send(frame_of(order)); };
    const auto post_end = [to = link](const RunEnd& end) { to->send(frame_of(end)); };
    part = coordinator->join_remote(post, post_end, has_sources, process, attendance);
  }

  void take(const IncomingFrame& frame) {
    if (part < 0) join();
    const auto& header = frame.header;
    switch (word_of(frame)) {
      case RunWord::asked:
        return coordinator->asked(part, run_of(frame));
      case RunWord::wired:
        return coordinator->wired(part);
      case RunWord::prepared:
        return coordinator->prepared(part, header.step);
      case RunWord::paused:
        return coordinator->paused(part, static_cast<std::uint64_t>(header.run), header.step);
      case RunWord::finished:
        return coordinator->finished(part);
      case RunWord::failed:
        return coordinator->failed(failure_of(frame));
      case RunWord::stop:
        return coordinator->stop();
      case RunWord::interrupt:
        return coordinator->interrupt();
      case RunWord::give_up:
        // If an expendable part gives up, the runs of the other parts go on.
        if (expendable()) return lose_part();
        return coordinator->give_up(failure_of(frame));
      case RunWord::left:
        gone = true;
        return expendable() ? lose_part() : coordinator->owner_left(part);
      default:
        throw Error("run", "an order came from a part");
    }
  }
};

RemotePart::RemotePart(std::shared_ptr<RunCoordinator> coordinator, std::shared_ptr<Link> link, int process,
                       bool has_sources, RunCoordinator::Attendance attendance)
    : state_(new State{std::move(coordinator), std::move(link), process, has_sources, attendance}) {
  // A late comer, the part of a process that has come back, joins with its first message. No run waits for that part.
  if (attendance != RunCoordinator::Attendance::late_comer) state_->join();
  state_->link->on_ready([weak = std::weak_ptr(state_)] {
    if (const auto state = weak.lock()) state->receive();
  });
}

RemotePart::~RemotePart() {
  state_->link->on_ready({});
  state_->gone = true;
}

}  // namespace troupe
