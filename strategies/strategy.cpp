#include "troupe/strategies/strategy.hpp"

#include <numeric>
#include <string>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/step/rows_apart.hpp"

namespace troupe {

namespace {

void expect_places(const std::vector<Place>& places) {
  for (const auto& place : places)
    if (place.process < 0 || place.device.index < 0)
      throw Error("strategy", "there is no " + to_string(place.device) + " in process " +
                                  std::to_string(place.process) + ": numbers of processes and devices begin at 0");
}

}  // namespace

Strategy::Strategy(std::vector<Place> places) : places_(std::move(places)) {
  if (places_.empty()) throw Error("strategy", "needs at least one replica");
  expect_places(places_);
}

Replica Strategy::replica_at(int number) const {
  return {number, num_replicas_in_sync(), places_.at(static_cast<std::size_t>(number))};
}

std::int64_t Strategy::step_rows(std::int64_t batch_rows) const {
  return shares_steps() ? batch_rows : part_of_batch(batch_rows, num_replicas_in_sync(), 0).rows;
}

std::vector<int> Strategy::reporting_replicas() const {
  std::vector<int> replicas(places_.size());
  std::iota(replicas.begin(), replicas.end(), 0);
  return replicas;
}

void Strategy::set_forward_places(std::vector<Place> places) {
  expect_places(places);
  forward_places_ = std::move(places);
}

std::vector<Place> places_of(const std::vector<Device>& devices) {
  std::vector<Place> places;
  for (const auto& device : devices) places.push_back({0, device});
  return places;
}

Plan Strategy::evaluation_plan(const PlanRequest& request) const {
  return forward_plan(request, forward_graph(request.spec, request.data.fields()));
}

Plan Strategy::prediction_plan(const PlanRequest& request) const {
  return forward_plan(request, prediction_graph(request.spec, request.data.fields()));
}

Plan Strategy::forward_plan(const PlanRequest& request, const Graph& graph) const {
  const auto places = forward_places();
  const auto count = static_cast<int>(places.size());
  if (count > 1) expect_rows_apart(graph);
  auto plan = empty_plan(request, count);
  for (int number = 0; number < count; ++number)
    add_replica(plan, request, graph, {number, count, places[static_cast<std::size_t>(number)]});
  return plan;
}

}  // namespace troupe
