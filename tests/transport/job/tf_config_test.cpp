#include <utility>
#include <vector>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/transport/job/settings.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("TF_CONFIG says who holds parameters, computes, and evaluates; others have no role unless a flag gives one") {
  const std::string cluster =
      R"({"cluster":{"chief":["c:1"],"ps":["p:1","p:2"],"worker":["w:1"],"evaluator":["e:1"]},)";
  const auto task = [&](const std::string& type, int index) {
    return resolve(tf_config(cluster + R"("task":{"type":")" + type + R"(","index":)" + std::to_string(index) + "}}"));
  };
  const std::vector<std::pair<Job, std::pair<int, ProcessRole>>> jobs{
      {task("chief", 0), {0, ProcessRole::chief}},
      {task("worker", 0), {1, ProcessRole::worker}},
      {task("ps", 1), {3, ProcessRole::server}},
      {task("evaluator", 0), {4, ProcessRole::evaluator}}};
  for (const auto& [job, expected] : jobs) {
    CHECK(job.rank == expected.first);
    CHECK(job.role == expected.second);
    CHECK(job.world_size == 5);
  }
  CHECK(to_string(jobs[2].first) == "rank 3 of 5, ps (TF_CONFIG), rendezvous c:1");
  CHECK(resolve(tf_config("{" + kCluster + R"(,"task":{"type":"worker","index":0}})")).role == ProcessRole::any);
  CHECK(resolve(kRank, {.role = process_role_of("worker")}).role == ProcessRole::worker);
  CHECK_THROWS_WITH(process_role_of("boss"), Contains("there is no role 'boss'"));
}
