#pragma once

#include <array>
#include <memory>
#include <vector>

#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// Copies the inputs of a segment to its device, on a separate stream: the copies of one firing are made while the
/// device works on the previous firing. Each port has two places on the device, used alternately. Used on one thread at
/// a time.
class Uploads {
 public:
  static constexpr std::size_t kPlaces = 2;

  /// One port for each of `ports`. Places are allocated when they are first needed, with room for `max_rows` rows.
  Uploads(Device device, std::vector<TensorInfo> ports, std::int64_t max_rows);

  /// A firing begins. Its copies go to the next places.
  void start();
  /// Copies launched after this call begin after the event.
  void wait(const Event& event);
  /// Launches the copy of a tensor, and holds the tensor until the copy is done.
  Tensor upload(std::int32_t port, const Tensor& tensor);
  /// The end of the copy for a port in this firing. Done if there was no copy.
  const Event& uploaded(std::int32_t port) const { return uploaded_[port]; }
  /// The firing has launched its work, which ends with this event. Its places may be written again after the event.
  void finish(const Event& fired);

 private:
  Device device_;
  std::vector<TensorInfo> infos_;
  std::int64_t max_rows_;
  std::unique_ptr<Stream> stream_;  // allocated for the first copy
  std::array<std::vector<Tensor>, kPlaces> places_;
  std::array<Event, kPlaces> free_;  // after these events the places may be written
  std::vector<Event> uploaded_;      // by port
  std::size_t current_ = 0;          // index of the places of this firing
  bool used_ = false;                // the places, in this firing
};

}  // namespace troupe
