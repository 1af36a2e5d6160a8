#include "troupe/ops/cuda/product/product_timing.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/cuda/product/product.hpp"

namespace troupe::cuda {

namespace {

/// The most multiplications of the runs that are timed together, unless one run has more. At most kMaxRuns runs are
/// timed together.
constexpr double kMultiplications = 2e9;
// Times on an emulated GPU mean nothing, so each candidate runs only as often as it takes to find out whether it works.
#ifdef TROUPE_EMULATED_CUDA
constexpr int kRepetitions = 1;
constexpr std::int64_t kMaxRuns = 1;
#else
constexpr int kRepetitions = 3;
constexpr std::int64_t kMaxRuns = 10;
#endif

std::size_t bytes_of(const ProductShape& shape, DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                     std::int64_t stride) {
  const auto one = (rows - 1) * std::max(ld, columns) + columns;
  return static_cast<std::size_t>((shape.batch - 1) * stride + one) * size_of(dtype);
}

ProductTiming::Sizes sizes_of(const ProductShape& shape, std::size_t workspace_bytes) {
  const auto& [m, n, k] = std::tie(shape.m, shape.n, shape.k);
  ProductTiming::Sizes sizes{};
  const auto& [ta, tb] = std::tie(shape.transpose_a, shape.transpose_b);
  sizes.a = bytes_of(shape, shape.dtype, ta ? k : m, ta ? m : k, shape.ld_a, shape.stride_a);
  sizes.b = bytes_of(shape, shape.dtype, tb ? n : k, tb ? k : n, shape.ld_b, shape.stride_b);
  sizes.bias = static_cast<std::size_t>(n) * size_of(shape.result);
  sizes.y = bytes_of(shape, shape.result, m, n, shape.ld_y, shape.stride_y);
  sizes.workspace = workspace_bytes;
  sizes.aux = shape.aux_bytes();
  sizes.multiplications = shape.multiplications();
  return sizes;
}

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { (void)cudaGraphDestroy(graph); }
  void operator()(cudaGraphExec_t graph) const { (void)cudaGraphExecDestroy(graph); }
};
template <class Handle>
using GraphHandle = std::unique_ptr<std::remove_pointer_t<Handle>, DestroyGraph>;

/// Captures `runs` calls of run(memory), one after the other, as one executable graph.
GraphHandle<cudaGraphExec_t> capture(const ProductMemory& memory, int runs, const ProductTiming::Run& run) {
  check(cudaStreamBeginCapture(memory.stream, cudaStreamCaptureModeRelaxed), "beginning to capture");
  cudaGraph_t captured = nullptr;
  try {
    for (int i = 0; i < runs; ++i) run(memory);
  } catch (...) {
    // The capture must end, even after a failure.
    (void)cudaStreamEndCapture(memory.stream, &captured);
    (void)cudaGetLastError();
    if (captured != nullptr) (void)cudaGraphDestroy(captured);
    throw;
  }
  check(cudaStreamEndCapture(memory.stream, &captured), "capturing");
  const GraphHandle<cudaGraph_t> graph(captured);
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, captured, 0), "preparing captured work");
  return GraphHandle<cudaGraphExec_t>(executable);
}

/// The model name of the current device as one word.
std::string device_name() {
  static auto& mutex = *new std::mutex;
  static auto& names = *new std::map<int, std::string>;
  const int device = current_device();
  std::lock_guard lock(mutex);
  auto& name = names[device];
  if (name.empty()) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "asking what device it is");
    name = properties.name;
    std::ranges::replace(name, ' ', '_');
  }
  return name;
}

}  // namespace

ProductTiming::ProductTiming(const Sizes& sizes)
    : sizes_(sizes),
      runs_(static_cast<int>(std::clamp(kMultiplications / sizes.multiplications, 1.0, 1.0 * kMaxRuns))) {
  for (auto* bytes : {&sizes_.a, &sizes_.b, &sizes_.bias, &sizes_.y, &sizes_.workspace})
    *bytes = MemoryPool::rounded(*bytes);
}

ProductTiming::ProductTiming(const ProductShape& shape, std::size_t workspace_bytes)
    : ProductTiming(sizes_of(shape, workspace_bytes)) {}

ProductTiming::~ProductTiming() {
  if (!outside_) return;
  if (memory_.stream != nullptr) (void)cudaStreamSynchronize(memory_.stream);
  (void)cudaFree(allocated_);
  if (begin_ != nullptr) (void)cudaEventDestroy(begin_);
  if (end_ != nullptr) (void)cudaEventDestroy(end_);
  if (memory_.stream != nullptr) (void)cudaStreamDestroy(memory_.stream);
}

std::byte* ProductTiming::allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes) == cudaSuccess) return static_cast<std::byte*>(memory);
  (void)cudaGetLastError();
  throw CannotMeasure("cuda:" + std::to_string(current_device()) + " has no " + std::to_string(bytes) +
                      " bytes to measure on");
}

void ProductTiming::prepare() {
  if (allocated_ != nullptr) return;
  // If this thread is capturing another stream, CUDA would forbid the allocations below without this object.
  outside_.emplace();
  check(cudaStreamCreateWithFlags(&memory_.stream, cudaStreamNonBlocking), "making a stream");
  check(cudaEventCreate(&begin_), "making an event");
  check(cudaEventCreate(&end_), "making an event");
  const auto bytes = sizes_.a + sizes_.b + sizes_.bias + sizes_.y + sizes_.workspace + sizes_.aux;
  allocated_ = allocate(bytes);
  place_memory(allocated_);
  check(cudaMemsetAsync(allocated_, 0, bytes, memory_.stream), "zeroing memory");
}

void ProductTiming::place_memory(std::byte* memory) {
  memory_.a = memory;
  memory_.b = memory_.a + sizes_.a;
  memory_.bias = memory_.b + sizes_.b;
  memory_.y = memory_.bias + sizes_.bias;
  memory_.workspace = memory_.y + sizes_.y;
  memory_.aux = memory_.workspace + sizes_.workspace;
}

double ProductTiming::time_captured(const Run& run) {
  // This first run is not captured, because it may load code or prepare memory, which a capture forbids.
  run(memory_);
  const auto graph = capture(memory_, runs_, run);
  float shortest = 0.0F;
  // Repetition 0 warms up; its time does not count.
  for (int repetition = 0; repetition <= kRepetitions; ++repetition) {
    check(cudaEventRecord(begin_, memory_.stream), "timing");
    check(cudaGraphLaunch(graph.get(), memory_.stream), "timing");
    check(cudaEventRecord(end_, memory_.stream), "timing");
    check(cudaEventSynchronize(end_), "timing");
    float milliseconds = 0.0F;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "timing");
    shortest = repetition <= 1 ? milliseconds : std::min(shortest, milliseconds);
  }
  return static_cast<double>(shortest) * 1e3 / runs_;
}

std::optional<double> ProductTiming::measure(const Run& run) {
  prepare();
  try {
    return time_captured(run);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::size_t choose_on_device(const std::string& key, std::span<const std::string> candidates,
                             const MeasuredChoices::Measure& measure) {
  static auto& choices = *new MeasuredChoices(default_choices_file(), default_choice_rule());
  return choices.choose(device_name() + ":" + key, candidates, measure);
}

}  // namespace troupe::cuda
