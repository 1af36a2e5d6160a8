#include "troupe/ops/cuda/device/captured_launches.hpp"

#include <algorithm>
#include <numeric>

#include "troupe/ops/core/error.hpp"

namespace troupe::cuda {

namespace {

// kGetCaptureInfo and kUpdateDependencies are the variants of two CUDA functions that also return or take the data of
// graph edges. Before CUDA 13 the names of these variants have version suffixes.
#if CUDART_VERSION >= 13000
constexpr auto kGetCaptureInfo = &cudaStreamGetCaptureInfo;
constexpr auto kUpdateDependencies = &cudaStreamUpdateCaptureDependencies;
#else
constexpr auto kGetCaptureInfo = &cudaStreamGetCaptureInfo_v3;
constexpr auto kUpdateDependencies = &cudaStreamUpdateCaptureDependencies_v2;
#endif

}  // namespace

CapturedLaunches::Nodes CapturedLaunches::last_captured(cudaStream_t stream) {
  auto status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  check(kGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, &edges, &count), "asking what was captured");
  if (status != cudaStreamCaptureStatusActive) throw Error("cuda", "the stream's capture has been invalidated");
  Nodes captured{{nodes, nodes + count}, std::vector<cudaGraphEdgeData>(count)};
  if (edges != nullptr) std::copy_n(edges, count, captured.edges.begin());
  return captured;
}

void CapturedLaunches::end_launch(cudaStream_t stream) {
  if (has_begun_) ends_.push_back(last_captured(stream));
}

void CapturedLaunches::go_on_after(cudaStream_t stream, std::span<const std::size_t> launches) const {
  Nodes after;
  for (const auto launch : launches)
    for (std::size_t i = 0; i < ends_[launch].nodes.size(); ++i) {
      if (std::ranges::find(after.nodes, ends_[launch].nodes[i]) != after.nodes.end()) continue;
      after.nodes.push_back(ends_[launch].nodes[i]);
      after.edges.push_back(ends_[launch].edges[i]);
    }
  check(kUpdateDependencies(stream, after.nodes.data(), after.edges.data(), after.nodes.size(),
                            cudaStreamSetCaptureDependencies),
        "ordering what is captured");
}

void CapturedLaunches::begin(cudaStream_t stream, std::span<const std::size_t> waits_for) {
  end_launch(stream);
  go_on_after(stream, waits_for);
  has_begun_ = true;
}

void CapturedLaunches::join(cudaStream_t stream) {
  if (!has_begun_) return;
  end_launch(stream);
  std::vector<std::size_t> all(ends_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  go_on_after(stream, all);
  has_begun_ = false;
}

}  // namespace troupe::cuda
