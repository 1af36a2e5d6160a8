#include "troupe/ops/cuda/cudnn/cudnn_plan.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe::cuda {

namespace {

/// The most proposals that are taken from one heuristic mode of cuDNN.
constexpr std::size_t kMaxProposals = 6;

std::vector<std::shared_ptr<const CudnnDescriptor>> configurations(const CudnnGraph& graph,
                                                                   cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set_descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.descriptor());
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (const auto* properties = graph.target().properties)
    heuristic.set_descriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *properties);
  heuristic.finalize();
  const auto count = heuristic.count(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  std::vector<std::shared_ptr<const CudnnDescriptor>> result;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::int64_t i = 0; i < count; ++i) {
    result.push_back(std::make_shared<CudnnDescriptor>(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    handles.push_back(result.back()->get());
  }
  heuristic.get_all(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, handles);
  result.resize(handles.size());
  return result;
}

/// The engine configurations that a heuristic mode of cuDNN proposes. If the mode fails, returns an empty list, because
/// another mode may still propose configurations.
std::vector<std::shared_ptr<const CudnnDescriptor>> configurations_or_none(const CudnnGraph& graph,
                                                                           cudnnBackendHeurMode_t mode) {
  try {
    return configurations(graph, mode);
  } catch (const Error&) {
    return {};
  }
}

CudnnDescriptor engine_of(const CudnnDescriptor& configuration) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::vector<cudnnBackendDescriptor_t> handles{engine.get()};
  configuration.get_all(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, handles);
  return engine;
}

bool is_exact(const CudnnDescriptor& engine, bool float32_only) {
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  engine.get_all(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, notes);
  return std::ranges::none_of(notes, [&](auto note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        return float32_only;
      case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
        return false;
      default:
        return true;
    }
  });
}

/// The name of a configuration: the index of its engine, and the types and values of its knobs.
std::string name_of(const CudnnDescriptor& configuration, const CudnnDescriptor& engine) {
  auto name = "engine" + std::to_string(engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  std::vector<CudnnDescriptor> knobs;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; ++i)
    handles.push_back(knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR).get());
  configuration.get_all(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, handles);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    std::vector<cudnnBackendKnobType_t> type(1);
    knobs[i].get_all(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, type);
    name += ":" + std::to_string(static_cast<int>(type.at(0))) + "=" +
            std::to_string(knobs[i].integer(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  return name;
}

}  // namespace

std::vector<CudnnProposal> cudnn_proposals(const CudnnGraph& graph, bool float32_only) {
  std::vector<CudnnProposal> proposals;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    std::size_t added = 0;
    for (const auto& configuration : configurations_or_none(graph, mode)) {
      const auto engine = engine_of(*configuration);
      if (added == kMaxProposals || !is_exact(engine, float32_only)) continue;
      const auto name = name_of(*configuration, engine);
      if (std::ranges::any_of(proposals, [&](const auto& other) { return other.name == name; })) continue;
      proposals.push_back({name, configuration});
      ++added;
    }
  }
  return proposals;
}

CudnnPlan::CudnnPlan(const CudnnDescriptor& configuration, const CudnnTarget& target)
    : plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
  if (target.handle != nullptr) plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
  if (target.properties != nullptr) plan_.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.properties);
  plan_.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  plan_.finalize();
  workspace_bytes_ = static_cast<std::size_t>(plan_.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
}

void CudnnPlan::run(CudnnHandle& handle, cudaStream_t stream, const ConvolutionTensors& tensors,
                    void* workspace) const {
  std::vector<std::int64_t> ids;
  std::vector<const void*> addresses;
  const auto add = [&](std::int64_t id, const void* address) {
    if (address == nullptr) return;
    ids.push_back(id);
    addresses.push_back(address);
  };
  add(CudnnGraph::kX, tensors.x);
  add(CudnnGraph::kWeights, tensors.weights);
  add(CudnnGraph::kBias, tensors.bias);
  add(CudnnGraph::kY, tensors.y);
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(addresses.size()),
               addresses.data());
  pack.set_integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finalize();
  std::lock_guard lock(handle.mutex);
  check_cudnn(cudnn_library().set_stream(handle.handle, stream), "choosing a stream");
  check_cudnn(cudnn_library().execute(handle.handle, plan_.get(), pack.get()), "a convolution");
}

}  // namespace troupe::cuda
