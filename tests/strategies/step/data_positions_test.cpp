#include "troupe/strategies/step/data_positions.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("the newest positions of a source are kept, and the newest of one batch counts") {
  DataPositions positions;
  CHECK_FALSE(positions.at(0, 0));
  for (std::int64_t batch = 1; batch <= 100; ++batch) positions.add({2, batch, {batch}});
  CHECK(positions.at(2, 100) == DataPosition{2, 100, {100}});
  CHECK(positions.at(2, 37) == DataPosition{2, 37, {37}});
  CHECK_FALSE(positions.at(2, 36));
  CHECK_FALSE(positions.at(1, 100));
  positions.add({2, 90, {7}});
  CHECK(positions.at(2, 90) == DataPosition{2, 90, {7}});
}
