#include "troupe/actors/spawn/remote_part.hpp"

#include <atomic>

#include "troupe/actors/control/run_frames.hpp"
#include "troupe/actors/threads/one_at_a_time.hpp"

namespace troupe {

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
    receiving.call([this] { receive_all(); });
  }

  void receive_all() {
    if (gone) return;
    try {
      while (const auto frame = link->receive()) take(*frame);
      if (const auto cause = link->failure()) lose(cause->what);
    } catch (const std::exception& error) {
      lose(error.what());
    }
  }

  void lose(const std::string& why) {
    gone = true;
    if (expendable()) return lose_part();
    const auto name = "process " + std::to_string(process);
    coordinator->give_up(std::make_shared<Failure>(Failure{.rank = process,
                                                           .actor = name,
                                                           .kind = FailureKind::part_died,
                                                           .what = "[run] " + name + " died or was cut off: " + why}));
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
      case RunWord::give_up:
        // The other parts can go on, whatever stops an expendable one.
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
    : state_(std::make_shared<State>()) {
  state_->coordinator = std::move(coordinator);
  state_->link = std::move(link);
  state_->process = process;
  state_->has_sources = has_sources;
  state_->attendance = attendance;
  // A late comer joins with its first message, since no run waits for it.
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
