#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "troupe/tests/emulated_cuda/capture.hpp"
#include "troupe/tests/emulated_cuda/event.hpp"

namespace emulated_cuda {

/// Runs all nodes on the calling thread, in an order that the dependencies allow and `variation` selects.
void run_nodes(const std::vector<Node>& nodes, const Device& device, std::uint64_t variation);

}  // namespace emulated_cuda

struct CUgraph_st {
  std::shared_ptr<const std::vector<emulated_cuda::Node>> nodes;
};

/// Launches of one graph run one after another, in whichever streams they are.
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<emulated_cuda::Node>> nodes;
  std::mutex mutex{};
  std::shared_ptr<emulated_cuda::Completion> last{};
};
