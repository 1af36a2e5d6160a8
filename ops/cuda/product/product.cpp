#include "troupe/ops/cuda/product/product.hpp"

#include <algorithm>
#include <bit>
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

/// Describes row-major matrices [rows, columns], one for each product of the batch, which are column-major matrices
/// [columns, rows] for cuBLASLt. `ld` is the distance between rows, or 0 for rows without gaps; `stride` is the
/// distance between the matrices of the batch. Both are in elements.
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

/// An epilogue in cuBLASLt, and whether it has a bias and an auxiliary tensor.
struct EpilogueTraits {
  cublasLtEpilogue_t id;
  bool has_bias, has_aux;
};

EpilogueTraits traits_of(Epilogue epilogue) {
  // In the order of Epilogue.
  constexpr EpilogueTraits kTraits[] = {
      {CUBLASLT_EPILOGUE_DEFAULT, false, false}, {CUBLASLT_EPILOGUE_BIAS, true, false},
      {CUBLASLT_EPILOGUE_RELU, false, false},    {CUBLASLT_EPILOGUE_RELU_BIAS, true, false},
      {CUBLASLT_EPILOGUE_GELU, false, false},    {CUBLASLT_EPILOGUE_GELU_BIAS, true, false},
      {CUBLASLT_EPILOGUE_GELU_AUX, false, true}, {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, true, true},
      {CUBLASLT_EPILOGUE_DGELU, false, true},    {CUBLASLT_EPILOGUE_DGELU_BGRAD, true, true}};
  return kTraits[static_cast<std::size_t>(epilogue)];
}

/// Whether an address is a multiple of Product::kAlignment, which the fast algorithms of cuBLASLt require. Null is
/// aligned.
bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % Product::kAlignment == 0;
}

/// The value of an algorithm's attribute, as text. Empty if cuBLASLt reports no value.
template <class T>
std::string configuration(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T number = 0;
  std::size_t written = 0;
  const auto status = lt_library().algo_get(&algorithm, attribute, &number, sizeof number, &written);
  return status == CUBLAS_STATUS_SUCCESS ? std::to_string(number) : "";
}

/// A name for an algorithm, made of its attributes. It is equal in every process, unlike the bytes of
/// cublasLtMatmulAlgo_t.
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
  if (factor != 1.0F) text += ":f" + std::to_string(std::bit_cast<std::uint32_t>(factor));
  return text;
}

std::size_t ProductShape::aux_bytes() const {
  return traits_of(epilogue).has_aux ? static_cast<std::size_t>(m * n) * size_of(result) : 0;
}

Product::Product(const ProductShape& shape) : shape_(shape), handle_(lt_handle()) {
  describe();
  // The algorithm for unaligned matrices is chosen first, while the descriptor still has the aligned addresses of the
  // bias and the auxiliary tensor that describe() sets: choose_algorithm() runs the product, which changes these
  // addresses.
  choose_unaligned_algorithm();
  choose_algorithm();
}

std::unique_ptr<const Product> Product::if_supported(const ProductShape& shape) {
  try {
    return std::make_unique<const Product>(shape);
  } catch (const Error&) {
    // Only the constructor can find out that an epilogue is not supported: cuBLASLt reports it when it is asked for
    // algorithms, or when they are tried.
    return nullptr;
  }
}

bool Product::has_bias() const {
  return traits_of(shape_.epilogue).has_bias;
}

// Row-major y = a b is column-major y' = b' a', so a and b change places: cuBLASLt's first factor is b.
void Product::describe() {
  const auto& s = shape_;
  const auto traits = traits_of(s.epilogue);
  const bool fast = s.dtype == DType::float32 && s.tf32;
  cublasLtMatmulDesc_t descriptor = nullptr;
  check_lt(lt_library().desc_create(&descriptor, fast ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
           "describing a product");
  desc_.reset(descriptor);
  set(descriptor, CUBLASLT_MATMUL_DESC_TRANSA, s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(descriptor, CUBLASLT_MATMUL_DESC_TRANSB, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE, traits.id);
  if (traits.has_bias)
    set(descriptor, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(type_of(s.result)));
  // The distance between rows of the auxiliary tensor, in elements.
  if (traits.has_aux) set(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, s.n);
  // cuBLASLt takes the alignment of the bias and of the auxiliary tensor from these addresses when it is asked for
  // algorithms. run() sets the real addresses.
  const auto* const aligned = reinterpret_cast<const void*>(std::uintptr_t{kAlignment});
  if (traits.has_bias) set(descriptor, CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned);
  if (traits.has_aux) set(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aligned);
  const auto& [m, n, k] = std::tie(s.m, s.n, s.k);
  a_ = layout(s, s.dtype, s.transpose_b ? n : k, s.transpose_b ? k : n, s.ld_b, s.stride_b);
  b_ = layout(s, s.dtype, s.transpose_a ? k : m, s.transpose_a ? m : k, s.ld_a, s.stride_a);
  y_ = layout(s, s.result, m, n, s.ld_y, s.stride_y);
}

std::vector<cublasLtMatmulHeuristicResult_t> Product::proposals(std::size_t factor_alignment,
                                                                std::size_t result_alignment, int count) const {
  const auto& library = lt_library();
  cublasLtMatmulPreference_t raw = nullptr;
  check_lt(library.preference_create(&raw), "making a preference");
  const LtHandle<cublasLtMatmulPreference_t> preference(raw);
  const auto set_preference = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check_lt(library.preference_set(raw, attribute, &value, sizeof value), "setting a preference");
  };
  set_preference(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMaxWorkspace);
  // This mask keeps partial sums in float32. Without it they may be rounded to 16 bits before they are added.
  if (is_16_bit(shape_.result))
    set_preference(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  const auto of_factors = static_cast<std::uint32_t>(factor_alignment);
  const auto of_result = static_cast<std::uint32_t>(result_alignment);
  set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, of_factors);
  set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, of_factors);
  set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, of_result);
  set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, of_result);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(count));
  const auto status = library.heuristic(handle_, desc_.get(), a_.get(), b_.get(), y_.get(), y_.get(), raw, count,
                                        results.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check_lt(status, "looking for an algorithm");
  results.resize(static_cast<std::size_t>(count));
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  return results;
}

void Product::choose_algorithm() {
  constexpr int kMaxAlgorithms = 16;
  std::vector<cublasLtMatmulHeuristicResult_t> candidates;
  std::vector<std::string> names;
  std::size_t workspace_bytes = 0;
  for (const auto& proposal : proposals(kAlignment, kAlignment, kMaxAlgorithms)) {
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
      if (writes_bias())
        run_with_sums(memory.stream, memory.a, memory.b, memory.bias, memory.y, memory.workspace, memory.aux);
      else
        run(memory.stream, memory.a, memory.b, memory.bias, memory.y, memory.workspace, memory.aux);
    });
  };
  const auto best = choose_on_device(shape_.key(), names, measure);
  aligned_ = {candidates[best].algo, candidates[best].workspaceSize};
}

// Takes cuBLASLt's first proposal without a measurement, because unaligned matrices are rare. Without a proposal,
// unaligned_ stays empty.
void Product::choose_unaligned_algorithm() {
  const auto candidates = proposals(size_of(shape_.dtype), size_of(shape_.result), 1);
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

// The preferences of cuBLASLt cannot state the alignment of a bias. So run() copies an unaligned bias to the workspace
// before the product, and run_with_sums() copies the sums from the workspace after the product.
void Product::run(cudaStream_t stream, const void* a, const void* b, const void* bias, void* y, void* workspace,
                  const void* aux) const {
  if (writes_bias())
    throw Error("cublas", "the product " + shape_.key() + " writes sums and is run by run_with_sums()");
  if (is_aligned(bias)) return launch(stream, a, b, bias, y, workspace, aux);
  auto* const copy = static_cast<std::byte*>(workspace) + algorithm_bytes();
  copy_bias(stream, copy, bias);
  launch(stream, a, b, copy, y, workspace, aux);
}

void Product::run_with_sums(cudaStream_t stream, const void* a, const void* b, void* column_sums, void* y,
                            void* workspace, const void* aux) const {
  if (!writes_bias()) throw Error("cublas", "the product " + shape_.key() + " writes no sums and is run by run()");
  if (is_aligned(column_sums)) return launch(stream, a, b, column_sums, y, workspace, aux);
  auto* const sums = static_cast<std::byte*>(workspace) + algorithm_bytes();
  launch(stream, a, b, sums, y, workspace, aux);
  copy_bias(stream, column_sums, sums);
}

void Product::launch(cudaStream_t stream, const void* a, const void* b, const void* bias, void* y, void* workspace,
                     const void* aux) const {
  if (!is_aligned(aux))
    throw Error("cublas", "the auxiliary tensor of " + shape_.key() + " must be aligned to 16 bytes");
  const bool aligned = is_aligned(a) && is_aligned(b) && is_aligned(y);
  if (!aligned && !unaligned_) throw Error("cublas", "has no algorithm for unaligned matrices, for " + shape_.key());
  const auto& algorithm = aligned ? aligned_ : *unaligned_;
  if (has_bias()) set(desc_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  if (traits_of(shape_.epilogue).has_aux) set(desc_.get(), CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
  const float beta = shape_.adds ? 1.0F : 0.0F;
  check_lt(lt_library().matmul(handle_, desc_.get(), &shape_.factor, b, a_.get(), a, b_.get(), &beta, y, y_.get(), y,
                               y_.get(), &algorithm.id, workspace, algorithm.workspace_bytes, stream),
           "a product");
}

void Product::copy_bias(cudaStream_t stream, void* to, const void* from) const {
  check(cudaMemcpyAsync(to, from, bias_bytes(), cudaMemcpyDeviceToDevice, stream), "copying a bias");
}

}  // namespace troupe::cuda
