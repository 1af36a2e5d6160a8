#include <algorithm>
#include <optional>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/cuda/cudnn/cudnn_plan.hpp"
#include "troupe/ops/cuda/product/product_timing.hpp"

namespace troupe::cuda {

namespace {

/// The most scratch memory of an algorithm, in bytes.
constexpr std::size_t kMaxWorkspace = std::size_t{256} << 20;

ProductTiming::Sizes sizes_of(const ConvolutionTask& task) {
  const auto& s = task.shape;
  const auto bytes = [&](std::int64_t elements) { return static_cast<std::size_t>(elements) * size_of(task.dtype); };
  const auto y = s.rows * s.pixels_of_row() * s.filters, weights = s.window() * s.filters;
  const bool of_weights = task.kind == ConvolutionTask::Kind::grad_weights;
  return {bytes(s.rows * s.height * s.width * s.channels),
          static_cast<std::size_t>(weights) * size_of(of_weights ? task.gradient : task.dtype),
          bytes(s.filters),
          bytes(y),
          kMaxWorkspace,
          static_cast<double>(y) * static_cast<double>(s.window())};
}

std::optional<double> time_of(const ConvolutionTask& task, LibraryConvolution& convolution, ProductTiming& timing) {
  return timing.measure([&](const ProductMemory& memory) {
    convolution.run(memory.stream, {memory.a, memory.b, task.bias ? memory.bias : nullptr, memory.y}, memory.workspace);
  });
}

/// A ConvolutionTask that cuDNN computes, with the algorithm that choose_on_device() takes: by default the fastest.
class CudnnConvolution final : public LibraryConvolution {
 public:
  /// Chooses an algorithm and prepares it; may block to measure. Throws Error if cuDNN has none that can be prepared.
  explicit CudnnConvolution(const ConvolutionTask& task) : task_(task), handle_(cudnn_handle()) {
    const auto proposals = propose();
    if (proposals.empty()) throw Error("cudnn", "has no algorithm for " + task.key());
    std::vector<std::string> names;
    for (const auto& proposal : proposals) names.push_back(proposal.name);
    ProductTiming timing(sizes_of(task));
    const auto can_prepare = [this](const auto& proposal) { return prepare(proposal); };
    const auto measure = [&](std::size_t i) {
      return can_prepare(proposals[i]) ? time_of(task_, *this, timing) : std::nullopt;
    };
    const auto best = choose_on_device(task.key(), names, measure);
    // The choice may come from a file instead of a measurement in this process, so it may fail to prepare. The first
    // proposal that can be prepared then takes its place.
    if (!can_prepare(proposals[best]) && std::ranges::none_of(proposals, can_prepare))
      throw Error("cudnn", "can prepare no algorithm for " + task.key());
  }

  std::size_t workspace_bytes() const override { return plan_->workspace_bytes(); }
  bool has_epilogue() const override { return task_.bias || task_.relu; }

  void run(cudaStream_t stream, const ConvolutionTensors& tensors, void* workspace) override {
    if (CudnnGraph::are_aligned(task_, tensors)) return plan_->run(handle_, stream, tensors, workspace);
    const auto aligned = copy_of(stream, tensors);
    plan_->run(handle_, stream, aligned, workspace);
    copy(stream, tensors.*result(), aligned.*result(), bytes_of(result()));
  }

 private:
  using Member = const void* ConvolutionTensors::*;
  static constexpr Member kMembers[] = {&ConvolutionTensors::x, &ConvolutionTensors::weights, &ConvolutionTensors::bias,
                                        &ConvolutionTensors::y};

  /// Makes graph_, and returns the algorithms that cuDNN proposes for it. The proposals refer to graph_.
  std::vector<CudnnProposal> propose() {
    const std::lock_guard lock(handle_.mutex);
    graph_.emplace(task_, CudnnTarget{.handle = handle_.handle});
    return cudnn_proposals(*graph_, task_.dtype == DType::float32 && !task_.tf32);
  }

  bool prepare(const CudnnProposal& proposal) {
    const std::lock_guard lock(handle_.mutex);
    try {
      plan_.emplace(*proposal.configuration, CudnnTarget{.handle = handle_.handle});
      return plan_->workspace_bytes() <= kMaxWorkspace;
    } catch (const Error&) {
      return false;
    }
  }

  /// The tensor that the task writes.
  Member result() const {
    if (task_.kind == ConvolutionTask::Kind::forward) return &ConvolutionTensors::y;
    return task_.kind == ConvolutionTask::Kind::grad_data ? &ConvolutionTensors::x : &ConvolutionTensors::weights;
  }
  std::size_t bytes_of(Member member) const {
    const auto sizes = sizes_of(task_);
    if (member == &ConvolutionTensors::x) return sizes.a;
    if (member == &ConvolutionTensors::weights) return sizes.b;
    return member == &ConvolutionTensors::bias ? sizes.bias : sizes.y;
  }

  /// Copies the tensors that the task reads to aligned memory. Returns the addresses of the copies, and the address of
  /// aligned memory for the tensor that the task writes. The first call allocates the memory, because unaligned tensors
  /// are rare.
  ConvolutionTensors copy_of(cudaStream_t stream, const ConvolutionTensors& tensors) {
    if (!copies_) {
      std::size_t bytes = 0;
      for (const auto member : kMembers) bytes += MemoryPool::rounded(bytes_of(member));
      copies_ = Tensor({static_cast<std::int64_t>(bytes)}, DType::uint8, Device{DeviceType::cuda, current_device()});
    }
    ConvolutionTensors aligned{};
    auto* next = copies_.address();
    for (const auto member : kMembers) {
      if (tensors.*member == nullptr) continue;
      if (member != result()) copy(stream, next, tensors.*member, bytes_of(member));
      aligned.*member = next;
      next += MemoryPool::rounded(bytes_of(member));
    }
    return aligned;
  }
  static void copy(cudaStream_t stream, const void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(const_cast<void*>(to), from, bytes, cudaMemcpyDeviceToDevice, stream), "copying a tensor");
  }

  ConvolutionTask task_;
  CudnnHandle& handle_;
  std::optional<CudnnGraph> graph_;
  std::optional<CudnnPlan> plan_;
  Tensor copies_;
};

std::unique_ptr<LibraryConvolution> try_to_make(const ConvolutionTask& task) {
  try {
    return std::make_unique<CudnnConvolution>(task);
  } catch (const Error&) {
    // cuDNN is missing or has no algorithm for this task. find_library_convolution() tries the task without its
    // epilogue, or returns null.
    return nullptr;
  }
}

}  // namespace

std::string ConvolutionTask::key() const {
  const auto& s = shape;
  auto text = "convolution:" + std::to_string(static_cast<int>(kind));
  for (const auto number : {s.rows, s.height, s.width, s.channels, s.y_height, s.y_width, s.filters, s.kernel_height,
                            s.kernel_width, s.stride, s.padding, s.groups})
    text += ":" + std::to_string(number);
  text += ":" + std::string(name_of(dtype));
  if (kind == Kind::grad_weights && gradient != dtype) text += ":to-" + std::string(name_of(gradient));
  return text + (tf32 ? ":tf32" : "") + (bias ? ":bias" : "") + (relu ? ":relu" : "");
}

std::unique_ptr<LibraryConvolution> faster_library_convolution(ConvolutionTask& task, ConvolutionTask other) {
  auto first = find_library_convolution(task), second = find_library_convolution(other);
  if (first != nullptr && second != nullptr) {
    static const std::string kWays[] = {"one", "other"};
    const auto measure = [&](std::size_t i) {
      ProductTiming timing(sizes_of(task));
      return i == 0 ? time_of(task, *first, timing) : time_of(other, *second, timing);
    };
    if (choose_on_device("faster:" + task.key(), kWays, measure) == 0) return first;
  }
  if (second == nullptr) return first;
  task = other;
  return second;
}

std::unique_ptr<LibraryConvolution> find_library_convolution(const ConvolutionTask& task) {
  auto with_epilogue = try_to_make(task);
  if (with_epilogue != nullptr || !(task.bias || task.relu)) return with_epilogue;
  auto without_epilogue = task;
  without_epilogue.bias = without_epilogue.relu = false;
  return try_to_make(without_epilogue);
}

}  // namespace troupe::cuda
