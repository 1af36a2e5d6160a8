#include "troupe/transport/link_reader.hpp"

#include <condition_variable>
#include <mutex>

namespace troupe {

struct LinkReader::Signal {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
};

LinkReader::LinkReader(std::shared_ptr<Link> link) : link_(std::move(link)), signal_(std::make_shared<Signal>()) {
  link_->on_ready([signal = signal_] {
    std::lock_guard lock(signal->mutex);
    signal->ready = true;
    signal->changed.notify_all();
  });
}

std::optional<IncomingFrame> LinkReader::receive(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    if (auto frame = link_->receive()) return frame;
    if (link_->failure()) return std::nullopt;
    std::unique_lock lock(signal_->mutex);
    if (!signal_->changed.wait_until(lock, deadline, [this] { return signal_->ready; })) return std::nullopt;
    signal_->ready = false;
  }
}

}  // namespace troupe
