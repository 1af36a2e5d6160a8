#include "troupe/ops/graph/rows_cache.hpp"

#include <string>

#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

TEST_CASE("a full cache drops the least recently used entry, and the others stay in place", "[rows_cache]") {
  RowsCache<std::string> cache(3);
  for (const std::int64_t rows : {1, 2, 3}) cache.add(rows, std::to_string(rows));
  const auto* first = cache.find(1);
  cache.add(4, "4");
  CHECK(cache.find(2) == nullptr);
  CHECK(cache.find(1) == first);
  CHECK(*cache.find(3) == "3");
  cache.add(5, "5");
  CHECK(cache.find(4) == nullptr);
  std::size_t kept = 0;
  cache.for_each([&](const std::string&) { ++kept; });
  CHECK(kept == 3);
}

}  // namespace troupe::ops_test
