#include "troupe/actors/load/uploads.hpp"

#include <algorithm>
#include <utility>

#include "troupe/ops/core/backend.hpp"

namespace troupe {

Uploads::Uploads(Device device, std::vector<TensorInfo> ports, std::int64_t max_rows)
    : device_(device), infos_(std::move(ports)), max_rows_(max_rows), uploaded_(infos_.size()) {
  for (auto& places : places_) places.resize(infos_.size());
}

void Uploads::start() {
  std::fill(uploaded_.begin(), uploaded_.end(), Event());
}

void Uploads::wait(const Event& event) {
  if (stream_ == nullptr) stream_ = backend_of(device_).make_stream(device_);
  stream_->wait(event);
}

Tensor Uploads::upload(std::int32_t port, const Tensor& tensor) {
  auto& place = places_[current_][port];
  const auto& info = infos_[port];
  if (!place) place = Tensor(info.shape.with_rows(max_rows_), info.dtype, device_);
  auto here = place.view(tensor.shape());
  if (tensor.bytes() == 0) return here;
  if (!std::exchange(used_, true)) wait(free_[current_]);
  copy(*stream_, tensor, here);
  uploaded_[port] = stream_->record();
  uploaded_[port].notify([tensor] {});
  return here;
}

void Uploads::finish(const Event& fired) {
  if (!std::exchange(used_, false)) return;
  free_[current_] = fired;
  current_ = (current_ + 1) % kPlaces;
}

}  // namespace troupe
