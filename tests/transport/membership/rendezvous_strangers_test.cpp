// Processes at a rendezvous that do not belong to the job, by their secret, run id or rank.

#include <algorithm>
#include <atomic>
#include <mutex>
#include <zmq.hpp>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/expect.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/scheduling_probe.hpp"
#include "troupe/tests/transport/membership/file_of_secret.hpp"
#include "troupe/tests/transport/membership/happening.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"
#include "troupe/transport/acceptor.hpp"
#include "troupe/transport/membership/job_secret.hpp"
#include "troupe/transport/membership/rendezvous.hpp"
#include "troupe/transport/membership/rendezvous_messages.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("processes without the secret of the job change nothing by any message to its rendezvous") {
  const auto address = new_address();
  std::atomic<int> notices{0};
  Happening sent;
  const auto ends = on_processes(3, [&](int rank) {
    if (rank == 2) {
      zmq::context_t context;
      zmq::socket_t stranger(context, zmq::socket_type::dealer);
      stranger.set(zmq::sockopt::linger, 0);
      stranger.connect("tcp://" + address);
      // Hellos of another world size, another agreement, and a rank that the job waits for.
      for (const auto& hello :
           {Hello{"", 1, 99, {}, {}}, Hello{"", 1, 2, {{"seed", "4"}}, {}}, Hello{"", 1, 2, {{"seed", "3"}}, {}}}) {
        const auto bytes = encode(hello);
        (void)stranger.send(zmq::buffer(bytes.data(), bytes.size()), zmq::send_flags::none);
      }
      expect(eventually([&] { return notices > 0; }), "rank 0 has not reported the stranger");
      return sent.happen();
    }
    auto options = options_of(rank, 2, address);
    options.agreement = {{"seed", "3"}};
    options.on_notice = [&](const std::string&) { ++notices; };
    if (rank == 1) sent.expect_soon("the visit of a stranger");
    const auto cluster = join_cluster(options);
    cluster->agree("color", 5, [] { return "blue"; });
    cluster->leave();
  });
  CHECK(ends == Ends(3));
  // At most one line a second, and one at the end.
  CHECK(notices <= 3 + static_cast<int>(patience().count() / 1'000));
}

TEST_CASE("a secret that a job has left without ending does not keep out the next job at its address") {
  const auto address = new_address();
  JobSecret earlier(options_of(0, 2, address).job, {});
  earlier.publish();
  Happening looking;
  const auto ends = on_processes(2, [&](int rank) {
    if (rank == 0) looking.expect_soon("the beginning of rank 1");
    if (rank == 1) looking.happen();
    join_cluster(options_of(rank, 2, address))->leave();
  });
  CHECK(ends == Ends(2));
}

TEST_CASE("ranks of one machine meet without a secret of theirs, however each spells the host") {
  const ReservedPort port;
  const auto ends = on_processes(2, [&](int rank) {
    const std::string host = rank == 0 ? "localhost" : "127.0.0.1";
    join_cluster(options_of(rank, 2, host + ":" + std::to_string(port.number())))->leave();
  });
  CHECK(ends == Ends(2));
}

TEST_CASE("a rank of another run is refused by its run id, without a secret of its own") {
  const auto address = new_address();
  const auto ends = on_processes(2, [&](int rank) {
    auto options = options_of(rank, 2, address);
    options.job.run_id = rank == 0 ? "first" : "second";
    if (rank == 0) options.limit = 2 * limit_of(std::chrono::milliseconds(500));
    join_cluster(options);
  });
  CHECK_THAT(ends[1], Contains("rank 1 belongs to run 'second', this is 'first'"));
}

TEST_CASE("a run id with control characters is printed without them") {
  const auto address = new_address();
  std::mutex mutex;
  std::string notices;
  const auto ends = on_processes(2, [&](int rank) {
    auto options = options_of(rank, 2, address);
    if (rank == 0) options.limit = 2 * limit_of(std::chrono::milliseconds(500));
    if (rank == 1) options.job.run_id = "\x1b[2J";
    options.on_notice = [&](const std::string& line) {
      const std::lock_guard lock(mutex);
      notices += line;
    };
    join_cluster(options);
  });
  for (const auto& text : {notices, ends[1]}) {
    CHECK_THAT(text, Contains("[2J"));
    CHECK(std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
  }
}

TEST_CASE("the first of two processes with one rank joins, and the second learns that the rank is taken") {
  const auto address = new_address();
  Happening refusal;
  const auto ends = on_processes(4, [&](int process) {
    // Ranks 0, 1, 1 and 2.
    auto options = options_of(process < 2 ? process : process - 1, 3, address);
    if (process == 0)
      options.on_notice = [&](const std::string& line) {
        if (line.find("there is a rank 1 already at") != std::string::npos) refusal.happen();
      };
    if (process == 3) refusal.expect_soon("the refusal of the second rank 1");
    join_cluster(options)->leave();
  });
  CHECK(ends[0].empty());
  CHECK(ends[3].empty());
  CHECK(ends[1].empty() != ends[2].empty());
  CHECK_THAT(ends[1] + ends[2], Contains("there is a rank 1 already at " + address));
}

TEST_CASE("a rank with another secret does not come, and says why") {
  const auto address = new_address();
  const FileOfSecret first('a'), second('b');
  const auto ends = on_processes(2, [&](int rank) {
    auto options = options_of(rank, 2, address);
    options.secret_file = (rank == 0 ? first : second).path();
    if (rank == 1) options.limit = limit_of(std::chrono::milliseconds(500));
    if (rank == 0) options.limit = 2 * limit_of(std::chrono::milliseconds(500));
    join_cluster(options);
  });
  CHECK_THAT(ends[0], Contains("rank 1 of 2 has not come"));
  CHECK_THAT(ends[1], Contains("has another secret"));
}
