#include "troupe/tests/transport/device_groups.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/half.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/tests/limits.hpp"

namespace troupe::testing {

namespace {

template <class T>
void fill(const Tensor& tensor, int rank) {
  const auto elements = tensor.mutable_data<T>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto number = uniform(5, static_cast<std::uint64_t>(rank), i) * 100.0F - 50.0F;
    elements[i] = T(number);
  }
}

}  // namespace

bool ManualEvent::done() const {
  std::lock_guard lock(mutex_);
  return done_;
}

bool ManualEvent::wait_for(std::chrono::nanoseconds limit) {
  std::unique_lock lock(mutex_);
  return completed_.wait_for(lock, limit, [&] { return done_; });
}

void ManualEvent::notify(std::function<void()> callback) {
  {
    std::lock_guard lock(mutex_);
    if (!done_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void ManualEvent::complete() {
  std::vector<std::function<void()>> callbacks;
  {
    std::lock_guard lock(mutex_);
    done_ = true;
    callbacks.swap(callbacks_);
  }
  completed_.notify_all();
  for (const auto& callback : callbacks) callback();
}

Tensor numbers_of(DType dtype, std::int64_t count, int rank) {
  Tensor tensor(Shape{count}, dtype);
  switch (dtype) {
    case DType::float32:
      fill<float>(tensor, rank);
      break;
    case DType::int32:
      fill<std::int32_t>(tensor, rank);
      break;
    case DType::int64:
      fill<std::int64_t>(tensor, rank);
      break;
    case DType::float16:
      fill<Float16>(tensor, rank);
      break;
    case DType::bfloat16:
      fill<BFloat16>(tensor, rank);
      break;
    default:
      for (auto& byte : tensor.mutable_data<std::uint8_t>()) byte = static_cast<std::uint8_t>(rank + 1);
  }
  return tensor;
}

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  if (tensor.bytes() == 0) return {};
  const auto host = tensor.copy_to_host();
  return {host.raw(), host.raw() + host.bytes()};
}

Tensor sum_on_host(const std::vector<Tensor>& tensors) {
  const auto group = make_local_group(static_cast<int>(tensors.size()));
  std::vector<Tensor> sums;
  std::vector<std::shared_ptr<Work>> works;
  for (std::size_t rank = 0; rank < tensors.size(); ++rank) {
    sums.push_back(tensors[rank].clone());
    works.push_back(group[rank]->all_reduce(sums.back()));
  }
  for (bool complete = false; !complete;) {
    complete = true;
    for (const auto& work : works) complete = work->advance() && complete;
  }
  return sums[0];
}

std::vector<std::byte> summed_on_host(DType dtype, std::int64_t count, int ranks) {
  std::vector<Tensor> tensors;
  for (int rank = 0; rank < ranks; ++rank) tensors.push_back(numbers_of(dtype, count, rank));
  return bytes_of(sum_on_host(tensors));
}

std::vector<Part> parts_of(const Communicator& group, DType dtype, std::int64_t count) {
  std::vector<Part> parts;
  for (const auto& [rank, device] : group.local()) {
    auto& part = parts.emplace_back();
    part.input = count > 0 ? numbers_of(dtype, count, rank).to(device) : Tensor(Shape{0}, dtype, device);
  }
  return parts;
}

std::vector<Part> scatter_parts_of(const Communicator& group, DType dtype, std::int64_t count, int root) {
  std::vector<Part> parts;
  for (const auto& [rank, device] : group.local()) {
    auto& part = parts.emplace_back();
    part.output = Tensor(Shape{count}, dtype, device);
    if (rank != root) continue;
    part.input = count > 0 ? numbers_of(dtype, group.size() * count, root).to(device) : Tensor(Shape{0}, dtype, device);
  }
  return parts;
}

bool is_scattered(const Tensor& output, int ranks, int rank, int root) {
  const auto count = output.elements();
  const auto whole = bytes_of(numbers_of(output.dtype(), ranks * count, root));
  const auto bytes = static_cast<std::ptrdiff_t>(output.bytes()), first = rank * bytes;
  return bytes_of(output) == std::vector<std::byte>(whole.begin() + first, whole.begin() + first + bytes);
}

void wait_for(Work& work, std::size_t local_ranks) {
  if (!eventually([&] { return work.advance(); })) throw Error("test", "not launched: " + work.waits_for());
  for (std::size_t i = 0; i < local_ranks; ++i)
    if (!work.done(i).wait_for(patience())) throw Error("test", "not done: " + work.waits_for());
}

}  // namespace troupe::testing
