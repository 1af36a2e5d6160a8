#include "troupe/ops/cuda/convolution_library.hpp"

namespace troupe::cuda {

std::unique_ptr<LibraryConvolution> find_library_convolution(const ConvolutionTask&) {
  return nullptr;
}

}  // namespace troupe::cuda
