#include "troupe/actors/shard/row_sums.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace troupe {

void RowSums::clear() {
  places_.clear();
  weights_.clear();
  rows_.clear();
  sums_.clear();
}

void RowSums::sum() {
  const auto order = [](const Place& place) { return std::tuple(place.row, place.worker, -place.lookup); };
  std::ranges::stable_sort(places_, {}, order);
  for (auto place = places_.cbegin(); place != places_.cend();) {
    rows_.push_back(place->row);
    sums_.resize(sums_.size() + width_, 0.0F);
    place = sum_row(place, sums_.data() + sums_.size() - width_);
  }
}

RowSums::Places RowSums::sum_row(Places place, float* total) {
  const auto row = place->row;
  while (place != places_.cend() && place->row == row) {
    const auto weight = weights_[static_cast<std::size_t>(place->worker)];
    place = sum_worker(place);
    for (std::size_t i = 0; i < width_; ++i) total[i] += weight == 1.0F ? of_worker_[i] : of_worker_[i] * weight;
  }
  return place;
}

RowSums::Places RowSums::sum_worker(Places place) {
  const auto [row, worker] = std::pair(place->row, place->worker);
  of_worker_.assign(width_, 0.0F);
  while (place != places_.cend() && place->row == row && place->worker == worker) {
    place = sum_lookup(place);
    for (std::size_t i = 0; i < width_; ++i) of_worker_[i] += of_lookup_[i];
  }
  return place;
}

RowSums::Places RowSums::sum_lookup(Places place) {
  const auto first = *place;
  of_lookup_.assign(width_, 0.0F);
  for (; place != places_.cend() && place->row == first.row && place->worker == first.worker &&
         place->lookup == first.lookup;
       ++place)
    for (std::size_t i = 0; i < width_; ++i) of_lookup_[i] += place->gradient[i];
  return place;
}

}  // namespace troupe
