#include "troupe/actors/shard/row_sums.hpp"

#include <algorithm>
#include <tuple>

namespace troupe {

namespace {

/// Removes from the front of `places` the places that have the same `key` as the first one, and returns them. `key` is
/// Place::row, Place::worker or Place::lookup.
template <class Number>
std::span<const RowSums::Place> take_group(std::span<const RowSums::Place>& places, Number RowSums::Place::*key) {
  const auto differs = [&](const RowSums::Place& place) { return place.*key != places.front().*key; };
  const auto end = std::ranges::find_if(places, differs);
  const auto group = places.first(static_cast<std::size_t>(end - places.begin()));
  places = places.subspan(group.size());
  return group;
}

}  // namespace

void RowSums::clear() {
  places_.clear();
  weights_.clear();
  rows_.clear();
  sums_.clear();
}

void RowSums::sum() {
  const auto order = [](const Place& place) { return std::tuple(place.row, place.worker, -place.lookup); };
  std::ranges::stable_sort(places_, {}, order);
  for (std::span<const Place> places = places_; !places.empty();) {
    auto of_row = take_group(places, &Place::row);
    rows_.push_back(of_row.front().row);
    sums_.resize(sums_.size() + width_, 0.0F);
    auto* const total = gradient(rows_.size() - 1);
    while (!of_row.empty()) {
      const auto weight = weights_[static_cast<std::size_t>(of_row.front().worker)];
      sum_worker(take_group(of_row, &Place::worker));
      for (std::size_t i = 0; i < width_; ++i) total[i] += weight == 1.0F ? of_worker_[i] : of_worker_[i] * weight;
    }
  }
}

/// Sets of_worker_ to the sum of the gradients of `places`, which all have the same row and worker.
void RowSums::sum_worker(std::span<const Place> places) {
  of_worker_.assign(width_, 0.0F);
  while (!places.empty()) {
    of_lookup_.assign(width_, 0.0F);
    for (const auto& place : take_group(places, &Place::lookup))
      for (std::size_t i = 0; i < width_; ++i) of_lookup_[i] += place.gradient[i];
    for (std::size_t i = 0; i < width_; ++i) of_worker_[i] += of_lookup_[i];
  }
}

}  // namespace troupe
