#include "troupe/transport/membership/announcements.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::chrono::milliseconds kNow{1};

std::vector<std::byte> bytes(int number) {
  return {static_cast<std::byte>(number), std::byte{7}};
}

/// Rank 0, and ends of links to those who hear.
struct AnnouncedJob {
  std::map<int, std::shared_ptr<Link>> ends;
  Announcements chief{[this](int rank) {
    auto [here, there] = make_memory_link();
    ends[rank] = std::move(there);
    return here;
  }};

  std::unique_ptr<Announcements> listener(int rank) {
    chief.add_listener(rank);
    return std::make_unique<Announcements>([end = ends.at(rank)](int) { return end; });
  }
};

}  // namespace

TEST_CASE("those who listen hear every announcement, in order") {
  AnnouncedJob job;
  const auto first = job.listener(1), second = job.listener(2);
  for (int i = 0; i < 3; ++i) job.chief.announce(bytes(i));
  for (const auto& listener : {&first, &second})
    for (int i = 0; i < 3; ++i) CHECK((*listener)->hear(patience()) == bytes(i));
  CHECK(first->hear(kNow) == std::nullopt);
}

TEST_CASE("one that comes back hears the last announcement first") {
  AnnouncedJob job;
  const auto before = job.listener(1);
  job.chief.announce(bytes(1));
  job.chief.announce(bytes(2));
  const auto again = job.listener(1);
  CHECK(again->hear(patience()) == bytes(2));
  job.chief.announce(bytes(3));
  CHECK(again->hear(patience()) == bytes(3));
}

TEST_CASE("without rank 0 there is nothing to hear") {
  auto job = std::make_unique<AnnouncedJob>();
  const auto listener = job->listener(1);
  job.reset();
  CHECK_THROWS_AS(listener->hear(patience()), Error);
}
