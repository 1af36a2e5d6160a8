#include <algorithm>
#include <optional>

#include "troupe/ops/core/error.hpp"
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
    const auto proposals = propose(graph_, CudnnGraph::Begins::aligned);
    if (proposals.empty()) throw Error("cudnn", "has no algorithm for " + task.key());
    std::vector<std::string> names;
    for (const auto& proposal : proposals) names.push_back(proposal.name);
    ProductTiming timing(sizes());
    const auto can_prepare = [this](const auto& proposal) { return prepare(proposal, plan_, kMostWorkspace); };
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
    const bool are_aligned = CudnnGraph::are_aligned(task_, tensors);
    if (!are_aligned && !of_views_) prepare_for_views();
    (are_aligned ? plan_ : of_views_)->run(handle_, stream, tensors, workspace);
  }

 private:
  /// The ways to compute the task on tensors that begin so. They need the graph as long as they live.
  std::vector<CudnnProposal> propose(std::optional<CudnnGraph>& graph, CudnnGraph::Begins begins) const {
    const std::lock_guard lock(handle_.mutex);
    graph.emplace(task_, CudnnTarget{.handle = handle_.handle}, begins);
    return cudnn_proposals(*graph, task_.dtype == DType::float32 && !task_.tf32);
  }

  bool prepare(const CudnnProposal& proposal, std::optional<CudnnPlan>& plan, std::size_t most_workspace) const {
    const std::lock_guard lock(handle_.mutex);
    try {
      plan.emplace(*proposal.configuration, CudnnTarget{.handle = handle_.handle});
      return plan->workspace_bytes() <= most_workspace;
    } catch (const Error&) {
      return false;
    }
  }

  // Views are rare: cuDNN's own estimate is good enough for them.
  void prepare_for_views() {
    const auto can_prepare = [this](const auto& proposal) {
      return prepare(proposal, of_views_, plan_->workspace_bytes());
    };
    if (std::ranges::any_of(propose(graph_of_views_, CudnnGraph::Begins::anywhere), can_prepare)) return;
    of_views_.reset();
    throw Error("cudnn", "has no algorithm for views that begin anywhere, for " + task_.key());
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
  std::optional<CudnnGraph> graph_, graph_of_views_;
  std::optional<CudnnPlan> plan_, of_views_;
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
