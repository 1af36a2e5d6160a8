#include "troupe/transport/membership/rendezvous.hpp"

#include <future>
#include <utility>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/expect.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/scheduling_probe.hpp"
#include "troupe/tests/transport/membership/file_of_secret.hpp"
#include "troupe/tests/transport/membership/happening.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"
#include "troupe/tests/transport/plain_listener.hpp"
#include "troupe/transport/acceptor.hpp"
#include "troupe/transport/membership/job_secret.hpp"
#include "troupe/transport/membership/rendezvous_messages.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Two of three processes wait for the third, which does not come, for this long. Returns what is wrong.
std::string miss_third_process(std::chrono::milliseconds limit) {
  const auto address = new_address();
  const auto ends = on_processes(2, [&](int rank) {
    auto options = options_of(rank, 3, address);
    options.limit = limit;
    join_cluster(options);
  });
  for (const auto& end : ends)
    if (end.find("rank 2 of 3 has not come") == std::string::npos) return "'" + end + "'";
  return "";
}

/// Options of a rank of three, of which rank 2 does not come.
ClusterOptions options_without_rank_two(int rank, const std::string& address, const FileOfSecret& secret) {
  auto options = options_of(rank, 3, address);
  options.secret_file = secret.path();
  options.limit = 3 * patience();
  return options;
}

/// A rendezvous of two ranks, in which no connection to the addresses of a rank is ever accepted.
class PendingRendezvous {
 public:
  PendingRendezvous(int rank, const std::string& address, const FileOfSecret& file)
      : cluster_(options_of(rank, 2, address)), secret_(cluster_.job, given_secret(file.path())) {}

  /// `connecting` happens when this rank connects to the other one.
  void run(Happening& connecting) {
    RendezvousOptions options{.job = cluster_.job, .bind = {"tcp://" + cluster_.job.rendezvous}, .secret = &secret_};
    std::promise<void> accepted;
    options.reach = [&, first = true, acceptance = accepted.get_future().share()](int, auto limit) mutable {
      if (std::exchange(first, false)) connecting.happen();
      acceptance.wait_for(limit);
      return Contact::pending;
    };
    options.limit = options.silence_limit = patience();
    rendezvous(options, [](const auto&) {});
  }

 private:
  const ClusterOptions cluster_;
  JobSecret secret_;
};

/// A rank 0 of two that sends rank 1 the members and, once that rank connects, a refusal unless `reason` is empty. It
/// then ends.
void welcome_and_end(const std::string& address, const FileOfSecret& secret, const std::string& reason,
                     Happening& connecting) {
  const auto rank_zero = make_acceptor({"tcp://" + address}, secret.secret(), 4, patience());
  const auto hello = rank_zero->receive(std::chrono::steady_clock::now() + patience());
  expect(hello.has_value(), "no HELLO has come");
  rank_zero->answer(hello->sender, encode(Answer{Answer::Kind::welcome, {}, std::vector<Member>(2)}));
  connecting.expect_soon("the connection of rank 1");
  if (!reason.empty()) rank_zero->answer(hello->sender, encode(Answer{Answer::Kind::refused, reason}));
}

}  // namespace

TEST_CASE("processes that differ all learn the first difference") {
  const auto address = new_address();
  const auto ends = on_processes(3, [&](int rank) {
    auto options = options_of(rank, 3, address);
    options.agreement = {{"model", "mlp"}, {"seed", rank == 2 ? "4" : "3"}};
    join_cluster(options);
  });
  for (const auto& end : ends) CHECK_THAT(end, Contains("[rendezvous] seed is 4 on rank 2 but 3 on rank 0"));
}

TEST_CASE("a process that does not come, or has another world size, is named") {
  CHECK(keeps_promise(std::chrono::milliseconds(500), miss_third_process) == "");
  const auto other_address = new_address();
  const auto other = on_processes(2, [&](int rank) { join_cluster(options_of(rank, rank + 2, other_address)); });
  for (const auto& end : other) CHECK_THAT(end, Contains("world size is 3 on rank 1 but 2 on rank 0"));
}

TEST_CASE("a process that ends while the others wait for a further one is named at once") {
  const auto address = new_address();
  const FileOfSecret secret('s');
  const auto ends = on_processes(2, [&](int rank) {
    const auto options = options_without_rank_two(rank, address, secret);
    if (rank == 0) return (void)join_cluster(options);
    const auto client = connect_to_acceptor("tcp://" + address, secret.secret(), patience());
    // Rank 0 refuses the second HELLO of the rank, which shows that the first one has come.
    for (int i = 0; i < 2; ++i) client->send(encode(Hello{options.job.run_id, 1, 3, {}, {}}));
    expect(client->receive(std::chrono::steady_clock::now() + patience()).has_value(), "no refusal has come");
  });
  CHECK_THAT(ends[0], Contains("[rendezvous] rank 1 has died or was cut off before all ranks had joined"));
  CHECK(ends[1].empty());
}

TEST_CASE("a rank 0 that ends while a process waits for the others is named at once") {
  const auto address = new_address();
  const FileOfSecret secret('s');
  const auto ends = on_processes(2, [&](int rank) {
    const auto options = options_without_rank_two(rank, address, secret);
    if (rank == 1) return (void)join_cluster(options);
    const auto rank_zero = make_acceptor({"tcp://" + address}, secret.secret(), 4, patience());
    expect(rank_zero->receive(std::chrono::steady_clock::now() + patience()).has_value(), "no HELLO has come");
  });
  CHECK(ends[0].empty());
  CHECK_THAT(ends[1], Contains("rank 0 at " + address + " has died or was cut off before all ranks had joined"));
}

TEST_CASE("a rank 0 that ends before it has proved the secret is named within the heartbeat limit") {
  const auto address = new_address();
  const FileOfSecret secret('s');
  const auto job = options_of(0, 2, address).job;
  JobSecret earlier(job, {}), newer(job, {});
  earlier.publish();
  // Rank 1 has the secret, or finds it once rank 0 listens.
  const bool is_given = GENERATE(true, false);
  const auto ends = on_processes(2, [&](int rank) {
    if (rank == 0) {
      PlainListener("tcp://" + address).expect_connection();
      if (!is_given) newer.publish();
      return;
    }
    auto options = is_given ? options_without_rank_two(rank, address, secret) : options_of(rank, 2, address);
    options.limit = 3 * patience();
    options.heartbeat_limit = limit_of(std::chrono::milliseconds(200));
    join_cluster(options);
  });
  CHECK(ends[0].empty());
  CHECK_THAT(ends[1], Contains("rank 0 at " + address + " does not listen any more: it has died or was cut off"));
}

TEST_CASE("processes meet at any loopback address of their machine") {
  const ReservedPort port;
  const auto ends = on_processes(
      2, [&](int rank) { join_cluster(options_of(rank, 2, "127.0.0.2:" + std::to_string(port.number())))->leave(); });
  CHECK(ends == Ends(2));
}

TEST_CASE("a process that ends while another one connects to its addresses is named at once") {
  const auto address = new_address();
  const FileOfSecret secret('s');
  const int victim = GENERATE(0, 1);
  Happening connecting;
  const auto ends = on_processes(2, [&](int rank) {
    if (rank != victim) return PendingRendezvous(rank, address, secret).run(connecting);
    if (victim == 0) return welcome_and_end(address, secret, {}, connecting);
    const auto client = connect_to_acceptor("tcp://" + address, secret.secret(), patience());
    for (int i = 0; i < 2; ++i) {
      client->send(encode(Hello{{}, 1, 2, {}, {}}));
      if (i == 0) expect(client->receive(std::chrono::steady_clock::now() + patience()).has_value(), "no welcome");
    }
    connecting.expect_soon("the connection of rank 0");
  });
  const auto name = victim == 0 ? "rank 0 at " + address : "rank 1";
  CHECK_THAT(ends[victim == 0 ? 1 : 0], Contains(name + " has died or was cut off before all ranks had joined"));
  CHECK(ends[victim == 0 ? 0 : 1].empty());
}

TEST_CASE("a rank that connects to rank 0 learns at once why rank 0 ends the rendezvous") {
  const auto address = new_address();
  const FileOfSecret secret('s');
  Happening connecting;
  const auto ends = on_processes(2, [&](int rank) {
    if (rank == 1) return PendingRendezvous(rank, address, secret).run(connecting);
    welcome_and_end(address, secret, "rank 2 has died", connecting);
  });
  CHECK(ends == Ends{"", "[rendezvous] rank 2 has died"});
}

TEST_CASE("a rank whose addresses cannot be reached does not count as present, and is named on all ranks") {
  const auto address = new_address();
  const int unreachable = GENERATE(0, 1);
  const auto ends = on_processes(3, [&](int rank) {
    const auto cluster_options = options_of(rank, 3, address);
    JobSecret secret(cluster_options.job, {});
    RendezvousOptions options{.job = cluster_options.job, .bind = {"tcp://" + address}, .secret = &secret};
    // Rank 0 waits for ranks that do not reach it until its limit.
    options.limit = unreachable == 0 && rank == 0 ? limit_of(std::chrono::milliseconds(500)) : patience();
    options.silence_limit = patience();
    options.self.control.tcp = "tcp://192.0.2." + std::to_string(rank) + ":1";
    options.reach = [&](int other, auto) { return other == unreachable ? Contact::failed : Contact::accepted; };
    rendezvous(options, [](const auto&) {});
  });
  const auto text = "rank " + std::to_string(unreachable) + " listens at tcp://192.0.2." + std::to_string(unreachable) +
                    ":1, but cannot be reached there";
  if (unreachable == 1)
    for (const auto& end : ends) CHECK_THAT(end, Contains(text));
  else
    for (const auto rank : {1U, 2U}) CHECK_THAT(ends[rank], Contains(text));
}

TEST_CASE("a rendezvous beyond loopback needs a word") {
  CHECK_THROWS_WITH(join_cluster(options_of(0, 2, "192.0.2.1:3000")), Contains("--bind any"));
}
