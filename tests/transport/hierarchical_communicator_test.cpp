#include "troupe/transport/hierarchy/hierarchical_communicator.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/transport/groups.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a hierarchy whose machines have summed before adds what the first rank of each brings") {
  const std::vector<int> machine_of{0, 0, 1};
  const auto all = make_local_group(3), inside = make_local_group(2), spread = make_local_group(2),
             across = make_local_group(2);
  Group group;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    Hierarchy parts{.machine_of = machine_of, .all = all[rank], .once_per_machine = true};
    if (machine_of[rank] == 0) {
      parts.inside = inside[rank];
      parts.spread = spread[rank];
    }
    if (rank != 1) parts.across = across[rank / 2];
    group.push_back(make_hierarchical_communicator(std::move(parts)));
  }
  on_ranks(group, [](Communicator& communicator) {
    constexpr float kBrought[]{10.0F, 999.0F, 5.0F};
    const auto tensor = Tensor::from<float>({1}, std::vector<float>{kBrought[communicator.rank()]});
    communicator.all_reduce(tensor)->wait(patience());
    if (tensor.data<float>()[0] != 15.0F) throw Error("test", "the sum is wrong");
    communicator.broadcast(tensor, 1)->wait(patience());
  });
  const Tensor input(Shape{3}, DType::float32), output(Shape{1}, DType::float32);
  CHECK_THROWS_WITH(group[0]->reduce_scatter(input, output), Contains("cannot scatter sums"));
}
