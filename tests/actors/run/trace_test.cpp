#include "troupe/actors/run/trace.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "troupe/actors/run/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a trace has every firing of every task, and its file can be read") {
  std::vector<float> record;
  auto runtime = scheduled_runtime(4);
  const auto trace = std::make_shared<Trace>();
  SpawnedPlan plan(runtime, fuse(chain_plan(2, 3, record)), {}, trace);
  plan.start({0, 3, 0});
  plan.wait();
  CHECK(trace->events().size() == 4 * 3);

  const auto file = std::filesystem::temp_directory_path() / "troupe_trace_test.json";
  trace->write(file);
  const auto events = nlohmann::json::parse(std::ifstream(file));
  std::filesystem::remove(file);
  REQUIRE(events.size() == 12);
  CHECK(events[0]["name"] == "source");
  CHECK(events[11]["args"]["step"] == 2);
  CHECK(events[0]["dur"] >= 0.0);
  CHECK_THROWS_AS(trace->write("/there/is/no/such/folder/trace.json"), Error);
}
