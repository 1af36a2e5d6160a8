#pragma once

#include "troupe/ops/graph/op.hpp"

namespace troupe {

// Every op's declaration; the file that defines it holds its shape and gradient rules. op_table.cpp lists them.
extern const OpDef kInput, kParameter, kConstant;
extern const OpDef kAdd, kAddN, kSub, kMul, kDiv, kScale, kRelu, kReluGrad;
extern const OpDef kReluGradBias, kFusedElementwise;
extern const OpDef kMatmulReluGrad, kMatmulGeluTanh, kMatmulGeluTanhGrad;
extern const OpDef kExp, kLog, kSqrt, kRsqrt, kAbs, kAbsGrad, kPow, kClip, kClipGrad;
extern const OpDef kTanh, kTanhGrad, kSigmoid, kSigmoidGrad, kGelu, kGeluGrad, kGeluTanh, kGeluTanhGrad;
extern const OpDef kSilu, kSiluGrad, kSoftplus;
extern const OpDef kEqual, kNotEqual, kLess, kLessEqual, kWhere, kCast;
extern const OpDef kAllFinite, kAtLeast, kCheckFinite, kControlDependency;
extern const OpDef kReshape, kViewAt, kPack;
extern const OpDef kSlice, kPad, kConcat, kSliceRows, kSliceRowsGrad, kRowsOfPart, kTranspose;
extern const OpDef kGather, kScatterAdd, kOneHot, kLoadRows;
extern const OpDef kOrthonormalize;
extern const OpDef kArgmax, kTopK, kTopKGrad, kCumulativeSum;
extern const OpDef kReduceSum, kReduceMean, kReduceMax, kReduceMin, kReduceVariance;
extern const OpDef kBroadcastTo, kBatchMean, kBatchMeanGrad;
extern const OpDef kMatmul, kOuterSum, kAttention, kAttentionGrad;
extern const OpDef kConv2d, kConv2dGradData, kConv2dGradWeights;
extern const OpDef kMaxPool, kMaxPoolGrad, kAveragePool, kAveragePoolGrad;
extern const OpDef kLayerNorm, kLayerNormGrad, kRmsNorm, kRmsNormGrad;
extern const OpDef kBatchSums, kBatchMoments, kBatchNorm, kBatchNormGradSums, kBatchNormGrad;
extern const OpDef kDropout, kLstm, kLstmGrad;
extern const OpDef kSoftmax, kSoftmaxGrad, kLogSoftmax, kLogSoftmaxGrad;
extern const OpDef kSoftmaxCrossEntropy, kSoftmaxCrossEntropyGrad, kSoftmaxCrossEntropyLogitsGrad;
extern const OpDef kSoftCrossEntropy, kSoftCrossEntropyGrad;
extern const OpDef kCountCorrect;
extern const OpDef kLearningRate, kStepNumber, kTableRate, kGlobalNormFactor;
extern const OpDef kSgdUpdate, kAdamUpdate, kLambUpdate, kSquaresUpdate;
extern const OpDef kSgdUpdates, kAdamUpdates, kSquaresUpdates;
extern const OpDef kAssign, kAccumulation, kAccumulate, kAverage;
extern const OpDef kAllReduce, kAllGather;

}  // namespace troupe
