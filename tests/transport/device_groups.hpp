#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "troupe/transport/communicator.hpp"

namespace troupe::testing {

/// An event that is done when a test says so.
class ManualEvent final : public Event::State {
 public:
  bool done() const override;
  std::exception_ptr error() const override { return nullptr; }
  bool wait_for(std::chrono::nanoseconds limit) override;
  void notify(std::function<void()> callback) override;

  void complete();

 private:
  mutable std::mutex mutex_;
  std::condition_variable completed_;
  bool done_ = false;
  std::vector<std::function<void()>> callbacks_;
};

/// Numbers of a rank, on the host: small enough that integers of all types hold their sums.
Tensor numbers_of(DType dtype, std::int64_t count, int rank);
std::vector<std::byte> bytes_of(const Tensor& tensor);

/// The sum of tensors on the host, in their order.
Tensor sum_on_host(const std::vector<Tensor>& tensors);
/// What every rank's tensor holds after an all-reduce of numbers_of(..., rank) on the host, in rank order.
std::vector<std::byte> summed_on_host(DType dtype, std::int64_t count, int ranks);

/// A tensor on the rank's device for each of a group's ranks in this process, with the numbers of the rank.
std::vector<Part> parts_of(const Communicator& group, DType dtype, std::int64_t count);
/// Parts of a scatter of `count` elements for every rank: the input of the root has the numbers of that rank, the
/// outputs are on the devices of the ranks.
std::vector<Part> scatter_parts_of(const Communicator& group, DType dtype, std::int64_t count, int root);
/// Whether the output of a rank of `ranks` is its part of what the root has scattered in scatter_parts_of().
bool is_scattered(const Tensor& output, int ranks, int rank, int root);
/// Waits until the collective is launched and done, for at most 20 seconds each.
void wait_for(Work& work, std::size_t local_ranks);

}  // namespace troupe::testing
