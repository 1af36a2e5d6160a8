#include "troupe/transport/membership/cluster.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <future>
#include <zmq.hpp>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/expect.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/scheduling_probe.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"
#include "troupe/transport/acceptor.hpp"
#include "troupe/transport/link_reader.hpp"
#include "troupe/transport/membership/agreement.hpp"
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

/// Something that happens once, for which a thread waits.
class Happening {
 public:
  void happen() { promise_.set_value(); }
  void expect_soon(const std::string& what) {
    expect(promise_.get_future().wait_for(patience()) == std::future_status::ready, what + " has not happened");
  }

 private:
  std::promise<void> promise_;
};

float sum_over_ranks(Cluster& cluster, const std::string& name, std::chrono::milliseconds limit = patience()) {
  const auto tensor = Tensor::scalar(static_cast<float>(cluster.rank() + 1));
  const auto group = cluster.communicator(name, {0, 1, 2});
  group[static_cast<std::size_t>(cluster.rank())]->all_reduce(tensor)->wait(limit);
  return tensor.item<float>();
}

/// A file with a secret of 32 equal characters, which is removed with the object.
class FileOfSecret {
 public:
  explicit FileOfSecret(char letter)
      : text_(32, letter), path_(std::string("secret_of_") + letter + "_" + std::to_string(getpid())) {
    std::ofstream(path_) << text_;
    chmod(path_.c_str(), S_IRUSR | S_IWUSR);
  }
  ~FileOfSecret() { unlink(path_.c_str()); }
  FileOfSecret(const FileOfSecret&) = delete;
  FileOfSecret& operator=(const FileOfSecret&) = delete;

  const std::string& path() const { return path_; }
  Secret secret() const { return Secret(text_); }

 private:
  const std::string text_, path_;
};

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

TEST_CASE("a process that ends while the others wait for a further one is named at once") {
  const auto address = new_address();
  const FileOfSecret secret('s');
  const auto ends = on_processes(2, [&](int rank) {
    auto options = options_of(rank, 3, address);
    options.secret_file = secret.path();
    // Rank 2 does not come.
    options.limit = 3 * patience();
    if (rank == 0) {
      join_cluster(options);
      return;
    }
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
    auto options = options_of(rank, 3, address);
    options.secret_file = secret.path();
    options.limit = 3 * patience();
    if (rank == 1) {
      join_cluster(options);
      return;
    }
    const auto rank_zero = make_acceptor({"tcp://" + address}, secret.secret(), patience());
    expect(rank_zero->receive(std::chrono::steady_clock::now() + patience()).has_value(), "no HELLO has come");
  });
  CHECK(ends[0].empty());
  CHECK_THAT(ends[1], Contains("rank 0 at " + address + " has died or was cut off before all ranks had joined"));
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
    join_cluster(options);
  });
  CHECK_THAT(ends[1], Contains("rank 1 belongs to run 'second', this is 'first'"));
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

TEST_CASE("processes meet at any loopback address of their machine") {
  const ReservedPort port;
  const auto ends = on_processes(
      2, [&](int rank) { join_cluster(options_of(rank, 2, "127.0.0.2:" + std::to_string(port.number())))->leave(); });
  CHECK(ends == Ends(2));
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
    options.reaches = [&](int other) { return other != unreachable; };
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

TEST_CASE("texts are compared line by line") {
  CHECK(first_difference("a\nb", 0, "a\nb", 1).empty());
  CHECK(first_difference("a\nb", 0, "a\nc", 1) == "'c' on rank 1 but 'b' on rank 0");
  CHECK(first_difference("a", 0, "a\nc", 1) == "'c' on rank 1 but nothing more on rank 0");
}

TEST_CASE("a HELLO arrives as it was sent; no part of one, and nothing longer, does") {
  const EndpointAddress address{"tcp://a:1", "ipc://@b", "id", "key", "host", 5};
  const Hello hello{"run", 1, 2, {{"seed", "3"}}, {address, address, ProcessRole::server}};
  auto bytes = encode(hello);
  const auto decoded = decode_hello(bytes);
  CHECK(decoded.run_id == "run");
  CHECK(decoded.rank == 1);
  CHECK(decoded.agreement == hello.agreement);
  CHECK(decoded.self.data == address);
  CHECK(decoded.self.role == ProcessRole::server);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_THROWS_AS(decode_hello(std::span(bytes).first(length)), Error);
  bytes.push_back(std::byte{0});
  CHECK_THROWS_WITH(decode_hello(bytes), Contains("bytes follow its end"));
  bytes[4] = std::byte{9};
  CHECK_THROWS_WITH(decode_hello(bytes), Contains("version 9 of the protocol is not 3"));
}
