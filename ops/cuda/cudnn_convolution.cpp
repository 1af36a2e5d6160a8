#include <algorithm>
#include <optional>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/cuda/cudnn_plan.hpp"
#include "troupe/ops/cuda/product_timing.hpp"

namespace troupe::cuda {

namespace {

/// No convolution gets more scratch memory.
constexpr std::size_t kMostWorkspace = std::size_t{256} << 20;

class CudnnConvolution final : public LibraryConvolution {
 public:
  /// Chooses the fastest way. Throws Error if there is none.
  explicit CudnnConvolution(const ConvolutionTask& task) : task_(task), handle_(cudnn_handle()) {
    const auto proposals = propose(graph_, CudnnGraph::Alignment::full);
    if (proposals.empty()) throw Error("cudnn", "has no algorithm for " + task.key());
    std::vector<std::string> names;
    for (const auto& proposal : proposals) names.push_back(proposal.name);
    ProductTiming timing(sizes());
    const auto can_prepare = [this](const auto& proposal) { return prepare(proposal, plan_); };
    const auto measure = [&](std::size_t i) -> std::optional<double> {
      if (!can_prepare(proposals[i])) return std::nullopt;
      return timing.measure([this](const ProductMemory& memory) {
        run(memory.stream, {memory.a, memory.b, task_.bias ? memory.bias : nullptr, memory.y}, memory.workspace);
      });
    };
    const auto best = gpu_choices().choose(device_name() + ":" + task.key(), names, measure);
    // A choice that was not measured may turn out to be of no use.
    if (!can_prepare(proposals[best]) && std::ranges::none_of(proposals, can_prepare))
      throw Error("cudnn", "can prepare no algorithm for " + task.key());
  }

  std::size_t workspace_bytes() const override { return plan_->workspace_bytes(); }
  bool has_epilogue() const override { return task_.bias || task_.relu; }

  void run(cudaStream_t stream, const ConvolutionTensors& tensors, void* workspace) override {
    if (CudnnGraph::are_aligned(task_, tensors)) return plan_->run(handle_, stream, tensors, workspace);
    if (!unaligned_plan_) prepare_unaligned();
    unaligned_plan_->run(handle_, stream, tensors, unaligned_workspace_.address());
  }

 private:
  /// The ways to compute the task on tensors with that alignment. They need the graph as long as they live.
  std::vector<CudnnProposal> propose(std::optional<CudnnGraph>& graph, CudnnGraph::Alignment alignment) const {
    const std::lock_guard lock(handle_.mutex);
    graph.emplace(task_, CudnnTarget{.handle = handle_.handle}, alignment);
    return cudnn_proposals(*graph, task_.dtype == DType::float32 && !task_.tf32);
  }

  bool prepare(const CudnnProposal& proposal, std::optional<CudnnPlan>& plan) const {
    const std::lock_guard lock(handle_.mutex);
    try {
      plan.emplace(*proposal.configuration, CudnnTarget{.handle = handle_.handle});
      return plan->workspace_bytes() <= kMostWorkspace;
    } catch (const Error&) {
      return false;
    }
  }

  // They are rare, so cuDNN's own estimate is good enough for them, and nobody else keeps memory ready.
  void prepare_unaligned() {
    std::optional<CudnnPlan> plan;
    const auto can_prepare = [&](const auto& proposal) { return prepare(proposal, plan); };
    if (std::ranges::none_of(propose(unaligned_graph_, CudnnGraph::Alignment::of_elements), can_prepare))
      throw Error("cudnn", "has no algorithm for unaligned tensors, for " + task_.key());
    Device device{DeviceType::cuda, 0};
    check(cudaGetDevice(&device.index), "asking for the current device");
    unaligned_workspace_ = Tensor({static_cast<std::int64_t>(plan->workspace_bytes())}, DType::uint8, device);
    unaligned_plan_ = std::move(plan);
  }

  ProductTiming::Sizes sizes() const {
    const auto& s = task_.shape;
    const auto bytes = [this](std::int64_t elements) {
      return static_cast<std::size_t>(elements) * size_of(task_.dtype);
    };
    const auto y = s.rows * s.pixels_of_row() * s.filters;
    return {bytes(s.rows * s.height * s.width * s.channels),
            static_cast<std::size_t>(s.window() * s.filters) * sizeof(float),
            bytes(s.filters),
            bytes(y),
            kMostWorkspace,
            static_cast<double>(y) * static_cast<double>(s.window())};
  }

  ConvolutionTask task_;
  CudnnHandle& handle_;
  std::optional<CudnnGraph> graph_, unaligned_graph_;
  std::optional<CudnnPlan> plan_, unaligned_plan_;
  Tensor unaligned_workspace_;
};

std::unique_ptr<LibraryConvolution> try_to_make(const ConvolutionTask& task) {
  try {
    return std::make_unique<CudnnConvolution>(task);
  } catch (const Error&) {
    // There is another way to do it.
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

std::unique_ptr<LibraryConvolution> find_library_convolution(const ConvolutionTask& task) {
  auto found = try_to_make(task);
  if (found != nullptr || !(task.bias || task.relu)) return found;
  auto without_epilogue = task;
  without_epilogue.bias = without_epilogue.relu = false;
  return try_to_make(without_epilogue);
}

}  // namespace troupe::cuda
