#include <array>

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_nothing(const OpInputs& inputs) {
  inputs.refuse("is made by GraphBuilder, not applied");
}

}  // namespace

const OpDef kInput{.name = "input", .kind = OpKind::source, .infer = infer_nothing};
const OpDef kParameter{.name = "parameter", .kind = OpKind::source, .infer = infer_nothing};
const OpDef kConstant{.name = "constant", .kind = OpKind::source, .infer = infer_nothing};

std::span<const OpDef* const> built_in_ops() {
  static const std::array kOps = {&kInput,
                                  &kParameter,
                                  &kConstant,
                                  &kAdd,
                                  &kSub,
                                  &kMul,
                                  &kScale,
                                  &kRelu,
                                  &kReluGrad,
                                  &kCheckFinite,
                                  &kControlDependency,
                                  &kAllFinite,
                                  &kAtLeast,
                                  &kReshape,
                                  &kSlice,
                                  &kPack,
                                  &kReduceSum,
                                  &kReduceMean,
                                  &kBatchMean,
                                  &kBroadcastTo,
                                  &kBatchMeanGrad,
                                  &kMatmul,
                                  &kConv2d,
                                  &kConv2dGradData,
                                  &kConv2dGradWeights,
                                  &kMaxPool,
                                  &kMaxPoolGrad,
                                  &kSoftmax,
                                  &kSoftmaxGrad,
                                  &kSoftmaxCrossEntropy,
                                  &kSoftmaxCrossEntropyGrad,
                                  &kCountCorrect,
                                  &kLearningRate,
                                  &kGlobalNormFactor,
                                  &kSgdUpdate,
                                  &kAdamUpdate,
                                  &kAllReduce};
  return kOps;
}

}  // namespace troupe
