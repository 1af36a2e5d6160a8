#pragma once

#include "troupe/ops/graph/op.hpp"

namespace troupe {

// Every op's declaration; the file that defines it holds its shape and gradient rules. op_table.cpp lists them.
extern const OpDef kInput, kParameter, kConstant;
extern const OpDef kAdd, kSub, kMul, kScale, kRelu, kReluGrad;
extern const OpDef kAllFinite, kAtLeast, kCheckFinite, kControlDependency;
extern const OpDef kReshape, kSlice, kPack;
extern const OpDef kReduceSum, kReduceMean, kBroadcastTo, kBatchMean, kBatchMeanGrad;
extern const OpDef kMatmul;
extern const OpDef kConv2d, kConv2dGradData, kConv2dGradWeights;
extern const OpDef kMaxPool, kMaxPoolGrad;
extern const OpDef kSoftmax, kSoftmaxGrad;
extern const OpDef kSoftmaxCrossEntropy, kSoftmaxCrossEntropyGrad, kCountCorrect;
extern const OpDef kLearningRate, kGlobalNormFactor, kSgdUpdate, kAdamUpdate;
extern const OpDef kAllReduce;

}  // namespace troupe
