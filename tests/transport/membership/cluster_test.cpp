#include "troupe/transport/membership/cluster.hpp"

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <future>
#include <latch>
#include <set>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/expect.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/scheduling_probe.hpp"
#include "troupe/tests/transport/membership/happening.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"
#include "troupe/transport/acceptor.hpp"
#include "troupe/transport/link_reader.hpp"
#include "troupe/transport/membership/rendezvous_messages.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

float sum_over_ranks(Cluster& cluster, const std::string& name, std::chrono::milliseconds limit = patience()) {
  const auto tensor = Tensor::scalar(static_cast<float>(cluster.rank() + 1));
  const auto group = cluster.communicator(name, {0, 1, 2});
  group[static_cast<std::size_t>(cluster.rank())]->all_reduce(tensor)->wait(limit);
  return tensor.item<float>();
}

/// The connected TCP sockets of this process.
std::set<int> connected_sockets() {
  std::set<int> sockets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int number = std::stoi(entry.path().filename());
    sockaddr_storage peer{};
    socklen_t bytes = sizeof(peer);
    if (getpeername(number, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0 && peer.ss_family == AF_INET)
      sockets.insert(number);
  }
  return sockets;
}

/// A process without the secret of the job says that it is rank 1 of three.
void expect_stranger_refused(const std::string& address) {
  const auto stranger = connect_to_acceptor("tcp://" + address, Secret(std::string(32, 'x')), patience());
  stranger->send(encode(Hello{{}, 1, 3, {}, {}}));
  const auto is_refused = [&] {
    expect(!stranger->receive(std::chrono::steady_clock::now()), "the stranger has got an answer");
    return stranger->was_refused();
  };
  expect(eventually(is_refused), "the stranger has not been refused");
}

}  // namespace

TEST_CASE("processes meet, send each other frames, agree and leave together") {
  const auto address = new_address();
  const auto ends = on_processes(3, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 3, address));
    expect(sum_over_ranks(*cluster, "group") == 6.0F, "the sum is wrong");
    cluster->agree("colour", 5, [] { return "blue"; });
    expect(!cluster->lost() && cluster->local_rank(rank) == rank, "a process is missing");
    cluster->leave();
  });
  CHECK(ends == Ends(3));
}

TEST_CASE("a group of two ranks in each process has the sums of a local one") {
  const auto address = new_address();
  std::vector<float> sums(4);
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    const auto group = cluster->communicator("group", {0, 0, 1, 1});
    std::vector<Tensor> tensors(4);
    std::vector<std::shared_ptr<Work>> works(4);
    for (int r = 2 * rank; r < 2 * rank + 2; ++r) {
      if (!group[static_cast<std::size_t>(r)]) throw Error("test", "a rank of this process is missing");
      tensors[static_cast<std::size_t>(r)] = Tensor::scalar(0.1F * static_cast<float>(r + 1));
      works[static_cast<std::size_t>(r)] =
          group[static_cast<std::size_t>(r)]->all_reduce(tensors[static_cast<std::size_t>(r)]);
    }
    for (int r = 2 * rank; r < 2 * rank + 2; ++r) {
      works[static_cast<std::size_t>(r)]->wait(patience());
      sums[static_cast<std::size_t>(r)] = tensors[static_cast<std::size_t>(r)].item<float>();
    }
    cluster->leave();
  });
  CHECK(ends == Ends(2));
  for (const auto sum : sums) CHECK(sum == ((0.1F * 1.0F + 0.1F * 2.0F) + 0.1F * 3.0F) + 0.1F * 4.0F);
}

TEST_CASE("ranks that come to different plans learn the first line that differs") {
  const auto address = new_address();
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    cluster->agree("plan 1", static_cast<std::uint64_t>(rank),
                   [rank] { return rank == 0 ? "op a (rate=0.8)\nop b" : "op a (rate=0.9)\nop b"; });
  });
  for (const auto& end : ends) CHECK_THAT(end, Contains("'op a (rate=0.9)' on rank 1 but 'op a (rate=0.8)' on rank 0"));
}

TEST_CASE("a process that goes without leaving is lost to all others, and they are told once") {
  const auto address = new_address();
  // The callbacks live until all clusters are gone, and with these the threads that call them.
  std::array<std::atomic<int>, 3> told{};
  std::array<std::shared_ptr<const Cluster::OnLost>, 3> callbacks;
  const auto ends = on_processes(3, [&](int rank) {
    auto cluster = join_cluster(options_of(rank, 3, address));
    if (rank == 1) return;
    const auto i = static_cast<std::size_t>(rank);
    callbacks[i] = cluster->on_lost([&, i](const FailurePtr& failure) { told[i] += failure->rank == 1 ? 1 : 100; });
    cluster->leave();
  });
  CHECK(ends[1].empty());
  for (const std::size_t rank : {0, 2}) CHECK(told[rank] == 1);
  for (int rank : {0, 2}) CHECK_THAT(ends[static_cast<std::size_t>(rank)], Contains("process 1 ("));
}

TEST_CASE("a wait for a lost process ends, also where no connection to it was made") {
  const auto address = new_address();
  std::promise<void> gone;
  const auto is_gone = gone.get_future().share();
  const auto ends = on_processes(3, [&](int rank) {
    auto cluster = join_cluster(options_of(rank, 3, address));
    if (rank == 1) {
      cluster.reset();
      return gone.set_value();
    }
    expect(is_gone.wait_for(patience()) == std::future_status::ready, "process 1 has not gone");
    // The longest silence of a process is patience().
    sum_over_ranks(*cluster, "group", 3 * patience());
  });
  CHECK(ends[1].empty());
  for (const auto rank : {0U, 2U}) CHECK_THAT(ends[rank], Contains("[cluster] process 1 ("));
}

TEST_CASE("the loss of a process ends every communicator, also one without a rank in that process") {
  const auto address = new_address();
  const auto algorithm = GENERATE(AllReduceAlgorithm::direct, AllReduceAlgorithm::ring, AllReduceAlgorithm::hierarchy);
  Happening waiting;
  std::promise<void> ended;
  const auto has_ended = ended.get_future().share();
  const auto ends = on_processes(3, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 3, address));
    if (rank == 1) return waiting.expect_soon("the begin of rank 0's barrier");
    const auto group = cluster->communicator("of two", {0, 2}, algorithm);
    if (rank == 0) {
      const auto work = group[0]->barrier();
      waiting.happen();
      try {
        // Rank 2 does not begin the barrier.
        work->wait(3 * patience());
      } catch (...) {
        ended.set_value();
        throw;
      }
    }
    expect(has_ended.wait_for(4 * patience()) == std::future_status::ready, "the wait of rank 0 has not ended");
    // A communicator that is made after the loss is ended, too.
    cluster->communicator("later", {0, 2}, algorithm)[1]->barrier()->wait(3 * patience());
  });
  CHECK(ends[1].empty());
  for (const auto rank : {0U, 2U}) CHECK_THAT(ends[rank], Contains("[cluster] process 1 ("));
}

TEST_CASE("a data connection that is cut ends the waits of all processes, though the control connections live") {
  const auto address = new_address();
  std::latch joined(3), seen(1), cut(1);
  const auto await = [](std::latch& latch) {
    expect(eventually([&] { return latch.try_wait(); }), "another process is late");
  };
  const auto ends = on_processes(3, [&](int rank) {
    auto options = options_of(rank, 3, address);
    options.same_host = false;
    options.heartbeat_limit = limit_of(std::chrono::milliseconds(500));
    const auto cluster = join_cluster(options);
    joined.count_down();
    await(joined);
    const auto before = rank == 1 ? connected_sockets() : std::set<int>{};
    if (rank == 1) seen.count_down();
    await(seen);
    if (rank != 0)
      cluster->communicator("pair", {1, 2})[static_cast<std::size_t>(rank - 1)]->barrier()->wait(patience());
    if (rank == 1) {
      for (const int socket : connected_sockets())
        if (!before.contains(socket)) shutdown(socket, SHUT_RDWR);
      cut.count_down();
    }
    await(cut);
    sum_over_ranks(*cluster, "all", 3 * patience());
  });
  for (const auto& end : ends) CHECK_THAT(end, Contains("process 1") || Contains("process 2"));
}

TEST_CASE("the loss of a process fails the control links to it, too") {
  const auto address = new_address();
  Happening made;
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    if (rank == 1) return made.expect_soon("the link");
    LinkReader reader(cluster->control_link(1, "of a test"));
    made.happen();
    expect(!reader.receive(3 * patience()), "a frame has arrived");
    expect(reader.link().failure() != nullptr, "the link has not failed");
    expect(reader.link().failure()->rank == 1, "the failure does not name process 1");
  });
  CHECK(ends == Ends(2));
}

TEST_CASE("a process that joins again with the rank of one that is gone is let in; all others are told, and count it") {
  const auto address = new_address();
  std::array<Happening, 3> ready, returned;
  std::array<std::shared_ptr<const Cluster::OnReturned>, 3> callbacks;
  const auto ends = on_processes(3, [&](int rank) {
    auto cluster = join_cluster(options_of(rank, 3, address));
    cluster->set_expendable({1});
    if (rank == 1) {
      for (const std::size_t other : {0, 2}) ready[other].expect_soon("the order that makes rank 1 expendable");
      cluster.reset();
      expect_stranger_refused(address);
      cluster = join_cluster(options_of(rank, 3, address));
      cluster->set_expendable({1});
    } else {
      const auto i = static_cast<std::size_t>(rank);
      callbacks[i] = cluster->on_returned([&, i](int) { returned[i].happen(); });
      expect(cluster->returns(1) == 0, "a return is counted before it happens");
      ready[i].happen();
      returned[i].expect_soon("the return of rank 1");
      expect(cluster->returns(1) == 1, "one return is not counted once");
    }
    expect(sum_over_ranks(*cluster, "after the return") == 6.0F, "the sum is wrong");
    cluster->leave();
  });
  CHECK(ends == Ends(3));
}
