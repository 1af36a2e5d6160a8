#pragma once

#include <array>
#include <memory>
#include <vector>

#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// Copies the inputs of a segment, which is a group of actors that fire together, to the segment's device. The copies
/// of one firing run on a separate stream, while the device works on the previous firing. Each input port has two
/// places, which are buffers on the device, used alternately. Used on one thread at a time.
class Uploads {
 public:
  static constexpr std::size_t kPlaces = 2;

  /// `ports` has the shape and dtype of each input port. A place is allocated for the first copy to it, with room for
  /// `max_rows` rows.
  Uploads(Device device, std::vector<TensorInfo> ports, std::int64_t max_rows);

  /// Begins a firing, in which no port has a copy yet.
  void start();
  /// Makes every copy that is launched after this call wait for the event.
  void wait(const Event& event);
  /// Launches the copy of a tensor to a place of its port and returns the copy, which holds the elements once
  /// uploaded() is done. Uploads holds `tensor` until then. For a tensor without elements no copy is launched.
  Tensor upload(std::int32_t port, const Tensor& tensor);
  /// The event at the end of a port's copy in this firing. It is done if there was no copy.
  const Event& uploaded(std::int32_t port) const { return uploaded_[port]; }
  /// Ends a firing, which has launched all its work; `fired` is done when that work is complete. If the firing has made
  /// copies, its places may be written again after the event, and the next firing uses the other places.
  void finish(const Event& fired);

 private:
  Device device_;
  std::vector<TensorInfo> infos_;
  std::int64_t max_rows_;
  std::unique_ptr<Stream> stream_;  // made by the first wait() or upload()
  std::array<std::vector<Tensor>, kPlaces> places_;
  std::array<Event, kPlaces> free_;  // by index of places: the event after which they may be written
  std::vector<Event> uploaded_;      // by port: the end of the copy in this firing
  std::size_t current_ = 0;          // index of the places of this firing
  bool used_ = false;                // whether this firing has made a copy
};

}  // namespace troupe
