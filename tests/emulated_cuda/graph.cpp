#include "troupe/tests/emulated_cuda/graph.hpp"

#include <utility>

#include "troupe/tests/emulated_cuda/error.hpp"
#include "troupe/tests/emulated_cuda/stream.hpp"
#include "troupe/tests/emulated_cuda/variation.hpp"

namespace emulated_cuda {

namespace {

/// The nodes of a graph that may run next.
class Frontier {
 public:
  explicit Frontier(const std::vector<Node>& nodes) : nodes_(nodes), missing_(nodes.size()), followers_(nodes.size()) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      missing_[i] = nodes[i].dependencies.size();
      for (std::size_t dependency : nodes[i].dependencies) followers_[dependency].push_back(i);
      if (nodes[i].work.meets_others) meeting_.push_back(i);
      if (missing_[i] == 0) ready_.push_back(i);
    }
  }

  bool is_empty() const { return ready_.empty(); }

  /// Takes a node that may run. Only the first of the nodes that meet others may run.
  std::size_t take(std::uint64_t choice) {
    std::size_t place = choice % ready_.size();
    while (nodes_[ready_[place]].work.meets_others && ready_[place] != meeting_[met_]) {
      place = (place + 1) % ready_.size();
    }
    const std::size_t index = ready_[place];
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(place));
    met_ += nodes_[index].work.meets_others;
    for (std::size_t follower : followers_[index]) {
      if (--missing_[follower] == 0) ready_.push_back(follower);
    }
    return index;
  }

 private:
  const std::vector<Node>& nodes_;
  std::vector<std::size_t> missing_;
  std::vector<std::vector<std::size_t>> followers_;
  std::vector<std::size_t> ready_;
  std::vector<std::size_t> meeting_;
  std::size_t met_ = 0;
};

}  // namespace

void run_nodes(const std::vector<Node>& nodes, const Device& device, std::uint64_t variation) {
  for (Frontier frontier(nodes); !frontier.is_empty();) {
    const Work& work = nodes[frontier.take(variation = mix(variation))].work;
    if (work.always || device.fault() == cudaSuccess) work.run();
  }
}

}  // namespace emulated_cuda

using namespace emulated_cuda;

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  if (const cudaError_t error = obstacle()) return returned(error);
  *graph = nullptr;
  const auto stream = stream_of(handle);
  const auto capture = stream->capture();
  if (!capture) return returned(cudaErrorIllegalState);
  if (capture->origin() != stream.get()) {
    capture->invalidate();
    return returned(cudaErrorStreamCaptureUnmatched);
  }
  if (capture->mode() != cudaStreamCaptureModeRelaxed && capture->owner() != std::this_thread::get_id()) {
    return returned(cudaErrorStreamCaptureWrongThread);
  }
  auto nodes = std::make_shared<std::vector<Node>>();
  if (const cudaError_t error = end_capture(*capture, stream->dependencies(), *nodes)) return returned(error);
  *graph = new CUgraph_st{std::move(nodes)};
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (graph == nullptr) return returned(cudaErrorInvalidValue);
  const std::size_t all = graph->nodes->size();
  for (std::size_t i = 0; nodes && i < *count; ++i) {
    nodes[i] = i < all ? reinterpret_cast<cudaGraphNode_t>(const_cast<Node*>(graph->nodes->data()) + i) : nullptr;
  }
  if (!nodes || *count > all) *count = all;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long /*flags*/) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (graph == nullptr) return returned(cudaErrorInvalidValue);
  *exec = new CUgraphExec_st{graph->nodes};
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t /*stream*/) {
  return returned(exec ? obstacle() : cudaErrorInvalidValue);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (exec == nullptr) return returned(cudaErrorInvalidValue);
  const auto stream = stream_of(handle);
  const auto run = [nodes = exec->nodes, &device = stream->device()] { run_nodes(*nodes, device, next_variation()); };
  bool meets_others = false;
  for (const Node& node : *exec->nodes) meets_others |= node.work.meets_others;
  if (stream->capture()) return returned(stream->submit({.run = run, .meets_others = meets_others}));
  auto done = std::make_shared<Completion>();
  std::lock_guard lock(exec->mutex);
  const auto in_turn = [before = exec->last, run, done] {
    if (before) before->wait();
    run();
    done->set();
  };
  if (const cudaError_t error = stream->submit({.run = in_turn, .always = true})) return returned(error);
  exec->last = std::move(done);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return returned(obstacle());
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return returned(obstacle());
}
