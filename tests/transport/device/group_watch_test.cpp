#include "troupe/transport/device/group_watch.hpp"

#include <csignal>
#include <future>

#include "troupe/tests/catch.hpp"

using namespace troupe;
using namespace troupe::device;

namespace {

/// A collective that does not begin.
class NotBegun final : public Watched {
 public:
  NotBegun() : Watched("a collective", {}) {}
  bool is_done() const override { return false; }
  std::string description() const override { return what(); }
};

}  // namespace

TEST_CASE("the signals of a program do not arrive on the thread of a watch") {
  std::promise<sigset_t> of_thread;
  auto asked = of_thread.get_future();
  bool told = false;
  const auto look = [&]() -> FailurePtr {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    if (!std::exchange(told, true)) of_thread.set_value(blocked);
    return nullptr;
  };
  GroupWatch watch(std::chrono::milliseconds(8), {.look = look});
  watch.add(std::make_shared<NotBegun>());
  const auto blocked = asked.get();
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM}) CHECK(sigismember(&blocked, signal) == 1);
  for (const int signal : {SIGSEGV, SIGPROF}) CHECK(sigismember(&blocked, signal) == 0);
}
