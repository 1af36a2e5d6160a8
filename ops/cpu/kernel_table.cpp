#include <algorithm>
#include <iterator>
#include <utility>

#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cpu {

namespace {

using Factory = std::unique_ptr<Kernel> (*)(const OpCall& call);

constexpr std::pair<const OpDef*, Factory> kKernels[] = {
    {&kAdd, make_add},
    {&kAddN, make_add_n},
    {&kSub, make_sub},
    {&kMul, make_mul},
    {&kDiv, make_div},
    {&kScale, make_scale},
    {&kRelu, make_relu},
    {&kReluGrad, make_relu_grad},
    {&kReluGradBias, make_relu_grad_bias},
    {&kFusedElementwise, make_fused_elementwise},
    {&kExp, make_exp},
    {&kLog, make_log},
    {&kSqrt, make_sqrt},
    {&kRsqrt, make_rsqrt},
    {&kAbs, make_abs},
    {&kAbsGrad, make_abs_grad},
    {&kPow, make_pow},
    {&kClip, make_clip},
    {&kClipGrad, make_clip_grad},
    {&kTanh, make_tanh},
    {&kTanhGrad, make_tanh_grad},
    {&kSigmoid, make_sigmoid},
    {&kSigmoidGrad, make_sigmoid_grad},
    {&kGelu, make_gelu},
    {&kGeluGrad, make_gelu_grad},
    {&kSilu, make_silu},
    {&kSiluGrad, make_silu_grad},
    {&kSoftplus, make_softplus},
    {&kEqual, make_equal},
    {&kNotEqual, make_not_equal},
    {&kLess, make_less},
    {&kLessEqual, make_less_equal},
    {&kWhere, make_where},
    {&kCast, make_cast},
    {&kAllFinite, make_all_finite},
    {&kAtLeast, make_at_least},
    {&kCheckFinite, make_check_finite},
    {&kControlDependency, make_control_dependency},
    {&kPack, make_pack},
    {&kSlice, make_slice},
    {&kPad, make_pad},
    {&kConcat, make_concat},
    {&kSliceRows, make_slice_rows},
    {&kSliceRowsGrad, make_slice_rows_grad},
    {&kRowsOfPart, make_rows_of_part},
    {&kTranspose, make_transpose},
    {&kGather, make_gather},
    {&kScatterAdd, make_scatter_add},
    {&kOneHot, make_one_hot},
    {&kLoadRows, make_load_rows},
    {&kArgmax, make_argmax},
    {&kOrthonormalize, make_orthonormalize},
    {&kTopK, make_top_k},
    {&kTopKGrad, make_top_k_grad},
    {&kCumulativeSum, make_cumulative_sum},
    {&kReduceSum, make_reduce_sum},
    {&kReduceMean, make_reduce_mean},
    {&kReduceMax, make_reduce_max},
    {&kReduceMin, make_reduce_min},
    {&kReduceVariance, make_reduce_variance},
    {&kBroadcastTo, make_broadcast_to},
    {&kBatchMean, make_batch_mean},
    {&kBatchMeanGrad, make_batch_mean_grad},
    {&kMatmul, make_matmul},
    {&kMatmulReluMask, make_matmul_relu_mask},
    {&kMatmulReluGradBias, make_matmul_relu_grad_bias},
    {&kOuterSum, make_outer_sum},
    {&kAttention, make_attention},
    {&kAttentionGrad, make_attention_grad},
    {&kConv2d, make_conv2d},
    {&kConv2dGradData, make_conv2d_grad_data},
    {&kConv2dGradWeights, make_conv2d_grad_weights},
    {&kMaxPool, make_max_pool},
    {&kMaxPoolGrad, make_max_pool_grad},
    {&kAveragePool, make_average_pool},
    {&kAveragePoolGrad, make_average_pool_grad},
    {&kLayerNorm, make_layer_norm},
    {&kLayerNormGrad, make_layer_norm_grad},
    {&kRmsNorm, make_rms_norm},
    {&kRmsNormGrad, make_rms_norm_grad},
    {&kBatchSums, make_batch_sums},
    {&kBatchMoments, make_batch_moments},
    {&kBatchNorm, make_batch_norm},
    {&kBatchNormGradSums, make_batch_norm_grad_sums},
    {&kBatchNormGrad, make_batch_norm_grad},
    {&kDropout, make_dropout},
    {&kLstm, make_lstm},
    {&kLstmGrad, make_lstm_grad},
    {&kSoftmax, make_softmax},
    {&kSoftmaxGrad, make_softmax_grad},
    {&kLogSoftmax, make_log_softmax},
    {&kLogSoftmaxGrad, make_log_softmax_grad},
    {&kSoftmaxCrossEntropy, make_softmax_cross_entropy},
    {&kSoftmaxCrossEntropyGrad, make_softmax_cross_entropy_grad},
    {&kSoftCrossEntropy, make_soft_cross_entropy},
    {&kSoftCrossEntropyGrad, make_soft_cross_entropy_grad},
    {&kCountCorrect, make_count_correct},
    {&kLearningRate, make_learning_rate},
    {&kGlobalNormFactor, make_global_norm_factor},
    {&kSgdUpdate, make_sgd_update},
    {&kAdamUpdate, make_adam_update},
    {&kStepNumber, make_step_number},
    {&kTableRate, make_table_rate},
    {&kLambUpdate, make_lamb_update},
    {&kSquaresUpdate, make_squares_update},
    {&kSgdUpdates, make_sgd_updates},
    {&kAdamUpdates, make_adam_updates},
    {&kSquaresUpdates, make_squares_updates},
    {&kAssign, make_assign},
    {&kAccumulation, make_accumulation},
    {&kAccumulate, make_accumulate},
    {&kAverage, make_average},
};

/// The ops whose kernels take 16-bit floats: those that move elements, and what the floats are for, casts and sums.
constexpr const OpDef* kTake16Bits[] = {&kAddN, &kCast, &kSlice, &kConcat, &kTranspose, &kLoadRows, &kBroadcastTo};

}  // namespace

void add_kernels(KernelTable& table) {
  for (const auto& [op, factory] : kKernels) {
    const bool takes_16_bits = std::ranges::find(kTake16Bits, op) != std::end(kTake16Bits);
    table.add(*op, takes_16_bits ? factory : refusing_16_bits(factory, DeviceType::cpu));
  }
}

}  // namespace troupe::cpu
