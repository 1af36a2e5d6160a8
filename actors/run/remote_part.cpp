#include "troupe/actors/run/remote_part.hpp"

#include <atomic>

#include "troupe/actors/run/one_at_a_time.hpp"
#include "troupe/actors/run/run_frames.hpp"

namespace troupe {

struct RemotePart::State {
  std::shared_ptr<RunCoordinator> coordinator;
  std::shared_ptr<Link> link;
  int process;
  bool expendable;
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
    if (expendable) return coordinator->lose(part);
    const auto name = "process " + std::to_string(process);
    coordinator->give_up(std::make_shared<Failure>(Failure{.rank = process,
                                                           .actor = name,
                                                           .kind = FailureKind::part_died,
                                                           .what = "[run] " + name + " died or was cut off: " + why}));
  }

  void take(const IncomingFrame& frame) {
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
        return coordinator->give_up(failure_of(frame));
      case RunWord::left:
        gone = true;
        return expendable ? coordinator->lose(part) : coordinator->owner_left(part);
      default:
        throw Error("run", "an order came from a part");
    }
  }
};

RemotePart::RemotePart(std::shared_ptr<RunCoordinator> coordinator, std::shared_ptr<Link> link, int process,
                       bool has_sources, bool expendable)
    : state_(std::make_shared<State>()) {
  state_->coordinator = std::move(coordinator);
  state_->link = std::move(link);
  state_->process = process;
  state_->expendable = expendable;
  const auto post = [to = state_->link](const RunOrder& order) { to->send(frame_of(order)); };
  const auto post_end = [to = state_->link](const RunEnd& end) { to->send(frame_of(end)); };
  state_->part = state_->coordinator->join_remote(post, post_end, has_sources, process);
  state_->link->on_ready([weak = std::weak_ptr(state_)] {
    if (const auto state = weak.lock()) state->receive();
  });
}

RemotePart::~RemotePart() {
  state_->link->on_ready({});
  state_->gone = true;
}

}  // namespace troupe
