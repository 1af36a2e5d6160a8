#include "troupe/tests/transport/groups.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <thread>

#include "troupe/ops/core/random.hpp"
#include "troupe/tests/plans/forwarding_communicator.hpp"
#include "troupe/transport/hierarchy/hierarchical_communicator.hpp"

namespace troupe::testing {

namespace {

/// Like a communicator over MPI: what its ranks have begun does not end when a rank leaves.
class NeverLeft final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  void leave(FailurePtr /*failure*/) override {}
};

}  // namespace

const std::vector<GroupKind>& group_kinds() {
  static const std::vector<GroupKind> kinds{
      {"local", make_local_group},
      {"linked", [](int ranks) { return make_linked_group(ranks); }},
      {"zeromq", [](int ranks) { return make_zeromq_group(ranks, false); }},
      {"zeromq in place", [](int ranks) { return make_zeromq_group(ranks, true); }},
      {"ring", [](int ranks) { return make_linked_group(ranks, {}, make_ring_communicator); }, false},
      {"ring over zeromq", [](int ranks) { return make_zeromq_group(ranks, true, make_ring_communicator); }, false},
      {"hierarchy", [](int ranks) { return make_hierarchical_group(ranks); }, false},
      {"hierarchy with an entry", [](int ranks) { return make_hierarchical_group(ranks, true); }, false}};
  return kinds;
}

std::vector<GroupKind> synchronous_group_kinds() {
  return {group_kinds()[0], group_kinds()[1]};
}

Group make_linked_group(int ranks, LinkFaults faults, const JoinRanks& join) {
  std::vector<std::vector<std::shared_ptr<Link>>> links(ranks, std::vector<std::shared_ptr<Link>>(ranks));
  for (int a = 0; a < ranks; ++a)
    for (int b = a + 1; b < ranks; ++b)
      std::tie(links[a][b], links[b][a]) = make_memory_link(a == 0 && b == 1 ? faults : LinkFaults{});
  Group group;
  for (int rank = 0; rank < ranks; ++rank) group.push_back(join(rank, std::move(links[rank])));
  return group;
}

Group make_hierarchical_group(int ranks, bool with_entry) {
  const auto all = make_linked_group(ranks);
  const int machines = (ranks + 1) / 2;
  const auto across = make_linked_group(machines);
  const auto entry = with_entry ? make_linked_group(machines) : Group(static_cast<std::size_t>(machines));
  Group group;
  for (int first = 0; first < ranks; first += 2) {
    const int here = std::min(2, ranks - first);
    const auto inside = make_local_group(here), spread = make_local_group(here);
    for (int inner = 0; inner < here; ++inner) {
      Hierarchy parts{.all = all[first + inner]};
      for (int rank = 0; rank < ranks; ++rank) parts.machine_of.push_back(rank / 2);
      if (here > 1) std::tie(parts.inside, parts.spread) = std::tie(inside[inner], spread[inner]);
      if (inner == 0) {
        parts.across = with_entry ? std::make_shared<NeverLeft>(across[first / 2]) : across[first / 2];
        parts.entry = entry[first / 2];
      }
      group.push_back(make_hierarchical_communicator(std::move(parts)));
    }
  }
  return group;
}

std::vector<std::shared_ptr<Endpoint>> make_endpoints(int count, const EndpointOptions& options) {
  std::vector<std::shared_ptr<Endpoint>> endpoints;
  for (int i = 0; i < count; ++i) endpoints.push_back(make_zeromq_endpoint(options));
  for (int i = 0; i < count; ++i)
    for (int peer = 0; peer < count; ++peer)
      if (peer != i) endpoints[i]->add_peer(peer, endpoints[peer]->address());
  return endpoints;
}

Group make_zeromq_group(int ranks, bool same_host, const JoinRanks& join) {
  const auto endpoints = make_endpoints(ranks, {.same_host = same_host});
  Group group;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<std::shared_ptr<Link>> links(ranks);
    for (int peer = 0; peer < ranks; ++peer)
      if (peer != rank) links[peer] = endpoints[rank]->link(peer, "group");
    // The endpoints live as long as the last communicator.
    auto communicator = join(rank, std::move(links));
    group.push_back({communicator.get(), [communicator, endpoints](Communicator*) mutable { communicator.reset(); }});
  }
  return group;
}

void on_ranks(const Group& group, const std::function<void(Communicator&)>& function) {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(group.size());
  for (std::size_t rank = 0; rank < group.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        function(*group[rank]);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

Tensor numbers(std::int64_t count, int rank) {
  // To draw all of many numbers would take most of the time of the tests. Chunks have no multiple of so many elements.
  constexpr std::int64_t kDrawn = 4099;
  Tensor tensor(Shape{count}, DType::float32);
  auto* const all = tensor.mutable_data<float>().data();
  for (std::int64_t i = 0; i < count; ++i)
    all[i] = i < kDrawn ? uniform(3, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(i)) - 0.5F
                        : all[i - kDrawn];
  return tensor;
}

std::vector<float> sum_in_rank_order(std::int64_t count, int ranks) {
  const auto start = numbers(count, 0);
  std::vector<float> sum(start.data<float>().begin(), start.data<float>().end());
  for (int rank = 1; rank < ranks; ++rank) {
    const auto other = numbers(count, rank);
    std::ranges::transform(sum, other.data<float>(), sum.begin(), std::plus());
  }
  return sum;
}

bool is_sum(const std::vector<float>& values, std::int64_t count, int ranks, const GroupKind& kind) {
  const auto wanted = sum_in_rank_order(count, ranks);
  if (kind.canonical) return values == wanted;
  // The numbers are below 0.5 each.
  const auto close = [ranks](float a, float b) { return std::abs(a - b) <= 1e-6F * static_cast<float>(ranks); };
  return std::ranges::equal(values, wanted, close);
}

std::vector<float> copy_of(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

}  // namespace troupe::testing
