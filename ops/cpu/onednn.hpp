#pragma once

#include <dnnl.hpp>
#include <initializer_list>
#include <utility>
#include <vector>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using Layout = dnnl::memory::desc;

/// oneDNN's CPU engine, one for all threads. A thread must call onednn_engine() before other functions of oneDNN. The
/// first call on a thread limits oneDNN to one thread: with more threads, replicas would contend for the cores, and
/// primitives that were made under different numbers of threads would differ in their bits.
const dnnl::engine& onednn_engine();

/// Primitives in the form and under the names of oneDNN 3. In earlier versions these names belong to an older form, and
/// the form of oneDNN 3 has names with _v2.
#if DNNL_VERSION_MAJOR >= 3
using SoftmaxForward = dnnl::softmax_forward;
using SoftmaxBackward = dnnl::softmax_backward;
using PoolingForward = dnnl::pooling_forward;
using PoolingBackward = dnnl::pooling_backward;
#else
using SoftmaxForward = dnnl::softmax_v2_forward;
using SoftmaxBackward = dnnl::softmax_v2_backward;
using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;
#endif

/// Describes a tensor of float32 or bfloat16 by its sizes and either the order of its axes or its strides in elements.
Layout describe(const Dims& sizes, Tag tag, DType dtype = DType::float32);
Layout describe(const Dims& sizes, const Dims& strides, DType dtype = DType::float32);
/// Describes images [B, H, W, C], oneDNN's nhwc. The sizes in the description are in oneDNN's order, NCHW.
Layout images(const Shape& shape, DType dtype = DType::float32);
/// True if oneDNN computes products of bfloat16 with instructions of this processor for them (AVX512_BF16 or AMX).
/// Needs no engine.
bool has_bfloat16_products();
/// The same for instructions that multiply matrices of bfloat16 (AMX).
bool has_bfloat16_matrices();
/// True if oneDNN computes a product or convolution in the dtypes of the call: it has no 16-bit floats, or only
/// bfloat16 and has_bfloat16_products() is true.
bool has_onednn_dtypes(const OpCall& call);
/// Attributes of a primitive whose caller provides its scratch memory.
dnnl::primitive_attr scratch_attributes();

/// The implementation that oneDNN chooses for a primitive. `arguments` must be the arguments that the constructor of
/// its description takes in oneDNN 3 between the engine and the attributes. Throws dnnl::error if there is no
/// implementation.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc choose(const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {onednn_engine(), arguments..., scratch_attributes()};
#else
  return {typename Primitive::desc(arguments...), scratch_attributes(), onednn_engine()};
#endif
}

/// The implementation of a primitive of the backward pass; see choose(). `forward` must be the implementation of the
/// forward pass.
template <class Primitive, class Forward, class... Arguments>
typename Primitive::primitive_desc choose_backward(const Forward& forward, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {onednn_engine(), arguments..., forward, scratch_attributes()};
#else
  return {typename Primitive::desc(arguments...), scratch_attributes(), onednn_engine(), forward};
#endif
}

/// A primitive with its arguments. It can run many times, each time on other memory.
class OnednnCall {
 public:
  using Arguments = std::initializer_list<std::pair<int, Layout>>;
  OnednnCall(dnnl::primitive primitive, Arguments arguments);

  /// Adds an argument of the kind `kind` (DNNL_ARG_...). Returns the index by which bind() names the argument.
  std::size_t argument(int kind, const Layout& description);
  /// Sets the memory of the argument with this index for the following calls of execute().
  void bind(std::size_t index, const void* data);
  /// Sets the memory of all arguments, in the order in which they were added.
  void bind(std::initializer_list<const void*> data);
  /// Runs the primitive on the calling thread and returns when the result is complete. All arguments must have been
  /// bound. Throws Error if oneDNN fails.
  void execute();

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// A conversion between two layouts. The arguments of `call` are the source, the result and `scratch_bytes` bytes of
/// scratch memory, in this order.
struct Reorder {
  OnednnCall call;
  std::size_t scratch_bytes;
};
Reorder make_reorder(const Layout& from, const Layout& to);

/// Returns the kernel that `make` makes. If `make` throws an exception of oneDNN, throws an Error that names the op and
/// its shapes.
template <class Make>
std::unique_ptr<Kernel> onednn_kernel(const OpCall& call, Make make) {
  try {
    onednn_engine();
    return make();
  } catch (const dnnl::error& error) {
    OpInputs{call.op->name, call.inputs, call.attributes}.refuse(std::string("oneDNN refuses it: ") + error.what());
  }
}

}  // namespace troupe::cpu
