#include <string>
#include <vector>

#include "troupe/tests/catch.hpp"
#include "troupe/transport/job/launcher_variables.hpp"

using namespace troupe;

TEST_CASE("lists of nodes and of tasks are expanded") {
  using Hosts = std::vector<std::string>;
  CHECK(expand_node_list("N", "a") == Hosts{"a"});
  CHECK(expand_node_list("N", "gnode[10,20-22],login1") == Hosts{"gnode10", "gnode20", "gnode21", "gnode22", "login1"});
  CHECK(expand_node_list("N", "n[08-11]x") == Hosts{"n08x", "n09x", "n10x", "n11x"});
  CHECK(expand_node_list("N", "r[1-2]n[3-4]") == Hosts{"r1n3", "r1n4", "r2n3", "r2n4"});
  CHECK(expand_task_counts("N", "2(x3),1") == std::vector<int>{2, 2, 2, 1});
  CHECK(expand_task_counts("N", "4") == std::vector<int>{4});
  for (const auto* text :
       {"a,,b", "a[", "a]", "a[1", "a[[1]]", "a[]", "a[x]", "a[1-]", "a[3-1]", "a[1-99999999]", "a[0-999]b[0-999]"})
    CHECK_THROWS_WITH(expand_node_list("N", text), Contains("N"));
  for (const auto* text : {"x", "2(", "2(x", "2(x3", "2(x0)", "2(x99999999)", "2(y3)", "-1"})
    CHECK_THROWS_WITH(expand_task_counts("N", text), Contains("N"));
}
