#pragma once

#include <array>
#include <memory>
#include <vector>

#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// Copies of what comes to a segment on a device from elsewhere, on a stream of their own: those of one firing are made
/// while the device works on the firing before. Each port has two places on the device, used in turn. Used on one
/// thread at a time.
class Uploads {
 public:
  static constexpr std::size_t kPlaces = 2;

  /// One port for each of `ports`; places are made when they are first needed, with room for `max_rows` rows.
  Uploads(Device device, std::vector<TensorInfo> ports, std::int64_t max_rows);

  /// A firing begins: its copies go to the next places.
  void start();
  /// Copies launched from now on begin after the event.
  void wait(const Event& event);
  /// Launches the copy of a tensor, which is kept until it is made.
  Tensor upload(std::int32_t port, const Tensor& tensor);
  /// The end of the copy for a port in this firing; done if there was none.
  const Event& uploaded(std::int32_t port) const { return uploaded_[port]; }
  /// The firing has launched its work, which ends with this event: then its places may be written again.
  void finish(const Event& fired);

 private:
  Device device_;
  std::vector<TensorInfo> infos_;
  std::int64_t max_rows_;
  std::unique_ptr<Stream> stream_;  // made for the first copy
  std::array<std::vector<Tensor>, kPlaces> places_;
  std::array<Event, kPlaces> free_;  // when the places may be written
  std::vector<Event> uploaded_;      // by port
  std::size_t turn_ = 0;
  bool used_ = false;  // in this firing
};

}  // namespace troupe
