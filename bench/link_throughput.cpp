// Measures the throughput of a link between two processes, alternately with a plain ZeroMQ socket between the same two.
// Tensors of one size are sent; as many are in flight as an edge with that many slots allows. At the end the bytes are
// in the receiver's own memory.

#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstring>
#include <iostream>
#include <zmq.hpp>

#include "troupe/bench/repetitions.hpp"
#include "troupe/transport/link_reader.hpp"
#include "troupe/transport/membership/cluster.hpp"

using namespace troupe;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLimit{30};

struct Setting {
  int rank = 0;
  int port = 29'500;
  std::int64_t bytes = 4 << 20;
  int tensors = 200;
  int slots = 8;
  int repetitions = 11;
  bool network = false;
};

/// The tensors to send, one for each slot.
std::vector<Tensor> slots_of(const Setting& setting) {
  std::vector<Tensor> slots;
  for (int i = 0; i < setting.slots; ++i) slots.emplace_back(Shape{setting.bytes}, DType::uint8);
  return slots;
}

double gigabytes_per_second(const Setting& setting, Clock::time_point begin) {
  const auto seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return static_cast<double>(setting.bytes) * setting.tensors / seconds / 1e9;
}

/// Rank 1 sends, rank 0 receives and returns the slot, as the proxies of an edge do.
double over_link(const Setting& setting, LinkReader& reader, const std::vector<Tensor>& slots) {
  auto& link = reader.link();
  const auto guard = std::make_shared<PayloadGuard>();
  const auto begin = Clock::now();
  int free_slots = setting.slots;
  for (int i = 0; i < setting.tensors; ++i) {
    if (setting.rank == 0) {
      auto frame = reader.receive(kLimit);
      if (!frame) throw Error("link_throughput", "no tensor arrives");
      const auto& to = slots[static_cast<std::size_t>(i % setting.slots)];
      frame->payload->read(0, {to.mutable_raw(), to.bytes()});
      frame->payload.reset();
      link.send({{.type = FrameType::credit_returned}});
      continue;
    }
    while (free_slots == 0)
      free_slots += reader.receive(kLimit) ? 1 : throw Error("link_throughput", "no credit arrives");
    --free_slots;
    link.send({{.type = FrameType::tensor_ready}, slots[static_cast<std::size_t>(i % setting.slots)], i, guard});
  }
  for (; setting.rank == 1 && free_slots < setting.slots; ++free_slots) (void)reader.receive(kLimit);
  return gigabytes_per_second(setting, begin);
}

/// Measures two plain sockets without checksums. Messages refer to the sender's memory and are copied once, into the
/// receiver's.
double over_socket(const Setting& setting, zmq::socket_t& socket, const std::vector<Tensor>& slots) {
  const auto begin = Clock::now();
  int free_slots = setting.slots;
  zmq::message_t message;
  for (int i = 0; i < setting.tensors; ++i) {
    const auto& slot = slots[static_cast<std::size_t>(i % setting.slots)];
    if (setting.rank == 0) {
      (void)socket.recv(message);
      std::memcpy(slot.mutable_raw(), message.data(), message.size());
      socket.send(zmq::message_t(1), zmq::send_flags::none);
      continue;
    }
    for (; free_slots == 0; ++free_slots) (void)socket.recv(message);
    --free_slots;
    socket.send(zmq::message_t(slot.mutable_raw(), slot.bytes(), [](void*, void*) {}), zmq::send_flags::none);
  }
  for (; setting.rank == 1 && free_slots < setting.slots; ++free_slots) (void)socket.recv(message);
  return gigabytes_per_second(setting, begin);
}

void measure(const Setting& setting) {
  ClusterOptions options;
  options.job = resolve_job({setting.rank, 2, "127.0.0.1:" + std::to_string(setting.port)});
  options.same_host = !setting.network;
  const auto cluster = join_cluster(options);
  LinkReader reader(cluster->data_link(1 - setting.rank, "bench"));
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::pair);
  socket.set(zmq::sockopt::linger, 0);
  const auto port = std::to_string(setting.port);
  const auto address = setting.network ? "tcp://127.0.0.1:" + std::to_string(setting.port + 1) : "ipc://@bench-" + port;
  setting.rank == 0 ? socket.bind(address) : socket.connect(address);
  const auto slots = slots_of(setting);
  const auto figures = bench::alternate({{"link", [&] { return over_link(setting, reader, slots); }},
                                         {"socket", [&] { return over_socket(setting, socket, slots); }}},
                                        setting.repetitions);
  cluster->leave();
  if (setting.rank != 0) return;
  std::printf("%s, tensors of %lld bytes: link %.2f GB/s, socket %.2f GB/s, link / socket %.2f\n",
              setting.network ? "tcp" : "ipc", static_cast<long long>(setting.bytes), bench::median(figures.at("link")),
              bench::median(figures.at("socket")), bench::median_ratio(figures.at("link"), figures.at("socket")));
}

}  // namespace

int main(int argc, char** argv) {
  Setting setting;
  CLI::App app{"Throughput of a link against a bare socket"};
  app.add_option("--bytes", setting.bytes, "size of a tensor")->check(CLI::PositiveNumber);
  app.add_option("--tensors", setting.tensors, "tensors a measurement")->check(CLI::PositiveNumber);
  app.add_option("--slots", setting.slots, "tensors on their way at once")->check(CLI::PositiveNumber);
  app.add_option("--repetitions", setting.repetitions, "of every measurement")->check(CLI::PositiveNumber);
  app.add_flag("--network", setting.network, "use the network as between machines");
  CLI11_PARSE(app, argc, argv);
  setting.port = 20'000 + getpid() % 10'000;
  const auto child = fork();
  setting.rank = child == 0 ? 1 : 0;
  try {
    measure(setting);
  } catch (const std::exception& error) {
    std::cerr << "link_throughput: " << error.what() << std::endl;
    return 1;
  }
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}
