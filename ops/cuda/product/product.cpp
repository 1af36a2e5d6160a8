#include "troupe/ops/cuda/product/product.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/cuda/product/product_timing.hpp"

namespace troupe::cuda {

namespace {

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return CUDA_R_32F;
    case DType::float16:
      return CUDA_R_16F;
    case DType::bfloat16:
      return CUDA_R_16BF;
    default:
      throw Error("cublas", "does not multiply " + std::string(name_of(dtype)));
  }
}

/// A matrix that is [rows, columns] in row-major memory, which is column-major [columns, rows] for cuBLAS.
LtHandle<cublasLtMatrixLayout_t> layout(const ProductShape& shape, DType dtype, std::int64_t rows, std::int64_t columns,
                                        std::int64_t ld, std::int64_t stride) {
  const auto& library = lt_library();
  cublasLtMatrixLayout_t raw = nullptr;
  check_lt(library.layout_create(&raw, type_of(dtype), static_cast<std::uint64_t>(columns),
                                 static_cast<std::uint64_t>(rows), ld == 0 ? columns : ld),
           "describing a matrix");
  LtHandle<cublasLtMatrixLayout_t> handle(raw);
  if (shape.batch == 1) return handle;
  const auto count = static_cast<std::int32_t>(shape.batch);
  check_lt(library.layout_set(raw, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count), "describing a batch");
  check_lt(library.layout_set(raw, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
           "describing a batch");
  return handle;
}

template <class T>
void set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check_lt(lt_library().desc_set(desc, attribute, &value, sizeof value), "describing a product");
}

cublasLtEpilogue_t epilogue_of(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::relu:
      return CUBLASLT_EPILOGUE_RELU;
    case Epilogue::relu_bias:
      return CUBLASLT_EPILOGUE_RELU_BIAS;
    case Epilogue::gelu:
      return CUBLASLT_EPILOGUE_GELU;
    case Epilogue::gelu_bias:
      return CUBLASLT_EPILOGUE_GELU_BIAS;
    case Epilogue::gelu_kept:
      return CUBLASLT_EPILOGUE_GELU_AUX;
    case Epilogue::gelu_bias_kept:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case Epilogue::gelu_grad:
      return CUBLASLT_EPILOGUE_DGELU;
    case Epilogue::gelu_grad_bias:
      return CUBLASLT_EPILOGUE_DGELU_BGRAD;
    case Epilogue::none:
      break;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

bool writes_bias(Epilogue epilogue) {
  return epilogue == Epilogue::gelu_grad_bias;
}

bool takes_bias(Epilogue epilogue) {
  return epilogue == Epilogue::bias || epilogue == Epilogue::relu_bias || epilogue == Epilogue::gelu_bias ||
         epilogue == Epilogue::gelu_bias_kept || writes_bias(epilogue);
}

bool takes_aux(Epilogue epilogue) {
  return epilogue == Epilogue::gelu_kept || epilogue == Epilogue::gelu_bias_kept || epilogue == Epilogue::gelu_grad ||
         epilogue == Epilogue::gelu_grad_bias;
}

/// Whether an address has the alignment for which the fast algorithms are made. Null is aligned.
bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % Product::kAlignment == 0;
}

/// The alignment of the first elements of the matrices, in bytes.
struct Alignments {
  std::uint32_t factors = Product::kAlignment, result = Product::kAlignment;
};

/// At most `count` algorithms that cuBLASLt proposes for matrices with these alignments, ordered by its own estimate of
/// their speed.
std::vector<cublasLtMatmulHeuristicResult_t> proposals(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                       cublasLtMatrixLayout_t y, DType of_y,
                                                       const Alignments& alignments, int count) {
  const auto& library = lt_library();
  cublasLtMatmulPreference_t raw = nullptr;
  check_lt(library.preference_create(&raw), "making a preference");
  const LtHandle<cublasLtMatmulPreference_t> preference(raw);
  const auto limit = Product::kMaxWorkspace;
  check_lt(library.preference_set(raw, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof limit),
           "setting a preference");
  // Without this, partial sums may be rounded to 16 bits before they are added up.
  const std::uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (is_16_bit(of_y))
    check_lt(library.preference_set(raw, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes),
             "setting a preference");
  const std::pair<cublasLtMatmulPreferenceAttributes_t, std::uint32_t> least[] = {
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments.factors},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments.factors},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments.result},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments.result}};
  for (const auto& [which, bytes] : least)
    check_lt(library.preference_set(raw, which, &bytes, sizeof bytes), "setting a preference");
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(count));
  const auto status = library.heuristic(handle, desc, a, b, y, y, raw, count, results.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check_lt(status, "looking for an algorithm");
  results.resize(static_cast<std::size_t>(count));
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  return results;
}

/// The value of an algorithm's attribute, as text. Empty if cuBLASLt has none.
template <class T>
std::string configuration(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T number = 0;
  std::size_t written = 0;
  const auto status = lt_library().algo_get(&algorithm, attribute, &number, sizeof number, &written);
  return status == CUBLAS_STATUS_SUCCESS ? std::to_string(number) : "";
}

/// The algorithm's name, which is equal in every process: some bytes of an algorithm are not.
std::string name_of(const cublasLtMatmulAlgo_t& algorithm) {
  auto name = "algorithm" + configuration<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID);
  for (const auto attribute :
       {CUBLASLT_ALGO_CONFIG_TILE_ID, CUBLASLT_ALGO_CONFIG_STAGES_ID, CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
        CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION})
    name += ":" + configuration<std::uint32_t>(algorithm, attribute);
  for (const auto attribute : {CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID})
    name += ":" + configuration<std::uint16_t>(algorithm, attribute);
  return name;
}

}  // namespace

std::string ProductShape::key() const {
  std::string text = "product";
  for (const auto number : {m, n, k, batch, stride_a, stride_b, stride_y, ld_a, ld_b, ld_y})
    text += ":" + std::to_string(number);
  text += ":" + std::string(troupe::name_of(dtype)) + (transpose_a ? ":ta" : "") + (transpose_b ? ":tb" : "");
  if (result != dtype) text += ":to-" + std::string(troupe::name_of(result));
  text += std::string(tf32 ? ":tf32" : "") + (adds ? ":adds" : "") + ":e" + std::to_string(static_cast<int>(epilogue));
  return text;
}

std::size_t ProductShape::aux_bytes() const {
  return takes_aux(epilogue) ? static_cast<std::size_t>(m * n) * size_of(result) : 0;
}

Product::Product(const ProductShape& shape) : shape_(shape), handle_(lt_handle()) {
  describe();
  // The unaligned algorithm first, while the bias has the address of the description: measuring changes the address.
  choose_unaligned_algorithm();
  choose_algorithm();
}

std::unique_ptr<const Product> Product::if_supported(const ProductShape& shape) {
  try {
    return std::make_unique<const Product>(shape);
  } catch (const Error&) {
    // cuBLASLt reports an unsupported epilogue only when it is asked for algorithms, or when they are tried.
    return nullptr;
  }
}

bool Product::has_bias() const {
  return takes_bias(shape_.epilogue);
}

// Row-major y = a b is column-major y' = b' a', so a and b change places.
void Product::describe() {
  const auto& s = shape_;
  const bool fast = s.dtype == DType::float32 && s.tf32;
  cublasLtMatmulDesc_t descriptor = nullptr;
  check_lt(lt_library().desc_create(&descriptor, fast ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
           "describing a product");
  desc_.reset(descriptor);
  set(descriptor, CUBLASLT_MATMUL_DESC_TRANSA, s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(descriptor, CUBLASLT_MATMUL_DESC_TRANSB, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(s.epilogue));
  if (has_bias()) set(descriptor, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(type_of(s.result)));
  // The distance between rows, in elements.
  if (takes_aux(s.epilogue)) set(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, s.n);
  // cuBLASLt takes the alignment of the bias and of the auxiliary tensor from these addresses when it is asked for
  // algorithms. run() sets the real addresses.
  const auto* const aligned = reinterpret_cast<const void*>(std::uintptr_t{kAlignment});
  if (has_bias()) set(descriptor, CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned);
  if (takes_aux(s.epilogue)) set(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aligned);
  const auto& [m, n, k] = std::tie(s.m, s.n, s.k);
  a_ = layout(s, s.dtype, s.transpose_b ? n : k, s.transpose_b ? k : n, s.ld_b, s.stride_b);
  b_ = layout(s, s.dtype, s.transpose_a ? k : m, s.transpose_a ? m : k, s.ld_a, s.stride_a);
  y_ = layout(s, s.result, m, n, s.ld_y, s.stride_y);
}

void Product::choose_algorithm() {
  constexpr int kMaxAlgorithms = 16;
  std::vector<cublasLtMatmulHeuristicResult_t> candidates;
  std::vector<std::string> names;
  std::size_t workspace_bytes = 0;
  for (const auto& proposal :
       proposals(handle_, desc_.get(), a_.get(), b_.get(), y_.get(), shape_.result, {}, kMaxAlgorithms)) {
    const auto name = name_of(proposal.algo);
    if (std::ranges::find(names, name) != names.end()) continue;
    candidates.push_back(proposal);
    names.push_back(name);
    workspace_bytes = std::max(workspace_bytes, proposal.workspaceSize);
  }
  if (candidates.empty()) throw Error("cublas", "has no algorithm for " + shape_.key());
  ProductTiming timing(shape_, workspace_bytes);
  const auto measure = [&](std::size_t i) {
    aligned_ = {candidates[i].algo, candidates[i].workspaceSize};
    return timing.measure([this](const ProductMemory& memory) {
      run(memory.stream, memory.a, memory.b, memory.bias, memory.y, memory.workspace, memory.aux);
    });
  };
  const auto best = gpu_choices().choose(device_name() + ":" + shape_.key(), names, measure);
  aligned_ = {candidates[best].algo, candidates[best].workspaceSize};
}

// Unaligned matrices are rare, so cuBLASLt's own estimate is good enough for them.
void Product::choose_unaligned_algorithm() {
  const Alignments of_elements{static_cast<std::uint32_t>(size_of(shape_.dtype)),
                               static_cast<std::uint32_t>(size_of(shape_.result))};
  const auto candidates = proposals(handle_, desc_.get(), a_.get(), b_.get(), y_.get(), shape_.result, of_elements, 1);
  if (!candidates.empty()) unaligned_ = Algorithm{candidates[0].algo, candidates[0].workspaceSize};
}

std::size_t Product::algorithm_bytes() const {
  return MemoryPool::rounded(std::max(aligned_.workspace_bytes, unaligned_ ? unaligned_->workspace_bytes : 0));
}

std::size_t Product::bias_bytes() const {
  return has_bias() ? static_cast<std::size_t>(shape_.n) * size_of(shape_.result) : 0;
}

std::size_t Product::workspace_bytes() const {
  return algorithm_bytes() + bias_bytes();
}

void Product::run(cudaStream_t stream, const void* a, const void* b, const void* bias, void* y, void* workspace,
                  const void* aux) const {
  if (!is_aligned(aux))
    throw Error("cublas", "the auxiliary tensor of " + shape_.key() + " must be aligned to 16 bytes");
  const bool aligned = is_aligned(a) && is_aligned(b) && is_aligned(y);
  if (!aligned && !unaligned_) throw Error("cublas", "has no algorithm for unaligned matrices, for " + shape_.key());
  const auto& algorithm = aligned ? aligned_ : *unaligned_;
  // cuBLASLt has no preference for the alignment of a bias, so an unaligned bias is copied.
  const void* const aligned_bias = is_aligned(bias) ? bias : static_cast<std::byte*>(workspace) + algorithm_bytes();
  const bool writes = writes_bias(shape_.epilogue);
  if (aligned_bias != bias && !writes) copy_bias(stream, aligned_bias, bias);
  if (has_bias()) set(desc_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned_bias);
  if (takes_aux(shape_.epilogue)) set(desc_.get(), CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
  const float beta = shape_.adds ? 1.0F : 0.0F;
  check_lt(lt_library().matmul(handle_, desc_.get(), &shape_.factor, b, a_.get(), a, b_.get(), &beta, y, y_.get(), y,
                               y_.get(), &algorithm.id, workspace, algorithm.workspace_bytes, stream),
           "a product");
  if (aligned_bias != bias && writes) copy_bias(stream, bias, aligned_bias);
}

void Product::copy_bias(cudaStream_t stream, const void* to, const void* from) const {
  check(cudaMemcpyAsync(const_cast<void*>(to), from, bias_bytes(), cudaMemcpyDeviceToDevice, stream), "copying a bias");
}

}  // namespace troupe::cuda
