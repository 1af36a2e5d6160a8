#include "troupe/actors/system/trace.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/decimal_comma.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/test_device/test_device.hpp"

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

  const auto file = std::filesystem::temp_directory_path() / ("troupe_trace_" + std::to_string(getpid()));
  {
    const DecimalComma locale;  // JSON has a decimal point, also if there is such a locale
    trace->write(file);
  }
  const auto events = nlohmann::json::parse(std::ifstream(file));
  std::filesystem::remove(file);
  REQUIRE(events.size() == 12);
  CHECK(events[0]["name"] == "source");
  CHECK(events[11]["args"]["step"] == 2);
  CHECK(events[0]["dur"] >= 0.0);
  CHECK_THROWS_AS(trace->write("/there/is/no/such/folder/trace.json"), Error);
}

TEST_CASE("a trace tells when a device did its work, and when the host launched it") {
  std::vector<float> record;
  GraphBuilder builder;
  builder.output("y", scale(scale(builder.input("x", {2}), 2.0), 3.0));
  Plan plan;
  const auto source = plan.add(counting_source("source", 4));
  const auto ops =
      lower(plan, std::move(builder).build(), {.place = {0, test_device(2)}, .inputs = {{"x", {source, 0}}}});
  plan.connect(ops.at("y"), plan.add(recording_sink("sink", record)));
  const auto trace = std::make_shared<Trace>();
  const Runtime runtime({.workers = 2, .cpu_devices = 1});
  {
    SpawnedPlan spawned(runtime, split(plan), {}, trace);
    spawned.start({0, 4});
    spawned.wait();
  }
  CHECK(test_device_bytes_in_use() == 0);  // its queue is empty: all is written down
  std::map<std::string, std::vector<Trace::Event>> of;
  for (const auto& event : trace->events()) of[event.device].push_back(event);
  REQUIRE(of["test:2"].size() == 2 * 4);
  REQUIRE(of["host of test:2"].size() == 2 * 4);
  for (const auto& done : of["test:2"]) {
    CHECK(done.begin <= done.end);
    const auto launched = std::ranges::find_if(
        of["host of test:2"], [&](const auto& event) { return event.task == done.task && event.step == done.step; });
    REQUIRE(launched != of["host of test:2"].end());
    CHECK(done.end >= launched->begin);
  }
}
