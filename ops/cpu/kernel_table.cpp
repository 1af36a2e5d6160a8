#include <utility>

#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cpu {

namespace {

using Factory = std::unique_ptr<Kernel> (*)(const OpCall& call);

constexpr std::pair<const OpDef*, Factory> kKernels[] = {
    {&kAdd, make_add},
    {&kSub, make_sub},
    {&kMul, make_mul},
    {&kBroadcastTo, make_broadcast_to},
    {&kScale, make_scale},
    {&kRelu, make_relu},
    {&kReluGrad, make_relu_grad},
    {&kCheckFinite, make_check_finite},
    {&kControlDependency, make_control_dependency},
    {&kAllFinite, make_all_finite},
    {&kAtLeast, make_at_least},
    {&kPack, make_pack},
    {&kReduceSum, make_reduce_sum},
    {&kReduceMean, make_reduce_mean},
    {&kBatchMean, make_batch_mean},
    {&kBatchMeanGrad, make_batch_mean_grad},
    {&kMatmul, make_matmul},
    {&kConv2d, make_conv2d},
    {&kConv2dGradData, make_conv2d_grad_data},
    {&kConv2dGradWeights, make_conv2d_grad_weights},
    {&kMaxPool, make_max_pool},
    {&kMaxPoolGrad, make_max_pool_grad},
    {&kSoftmax, make_softmax},
    {&kSoftmaxGrad, make_softmax_grad},
    {&kSoftmaxCrossEntropy, make_softmax_cross_entropy},
    {&kSoftmaxCrossEntropyGrad, make_softmax_cross_entropy_grad},
    {&kCountCorrect, make_count_correct},
    {&kLearningRate, make_learning_rate},
    {&kGlobalNormFactor, make_global_norm_factor},
    {&kSgdUpdate, make_sgd_update},
    {&kAdamUpdate, make_adam_update},
};

}  // namespace

void add_kernels(KernelTable& table) {
  for (const auto& [op, factory] : kKernels) table.add(*op, factory);
}

}  // namespace troupe::cpu
