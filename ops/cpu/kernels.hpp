#pragma once

#include <memory>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

/// Adds every kernel below; the table of kernel_table.cpp says which function makes which op.
void add_kernels(KernelTable& table);

std::unique_ptr<Kernel> make_add(const OpCall& call);
std::unique_ptr<Kernel> make_sub(const OpCall& call);
std::unique_ptr<Kernel> make_mul(const OpCall& call);
std::unique_ptr<Kernel> make_broadcast_to(const OpCall& call);
std::unique_ptr<Kernel> make_scale(const OpCall& call);
std::unique_ptr<Kernel> make_relu(const OpCall& call);
std::unique_ptr<Kernel> make_relu_grad(const OpCall& call);
std::unique_ptr<Kernel> make_all_finite(const OpCall& call);
std::unique_ptr<Kernel> make_at_least(const OpCall& call);
std::unique_ptr<Kernel> make_check_finite(const OpCall& call);
std::unique_ptr<Kernel> make_control_dependency(const OpCall& call);
std::unique_ptr<Kernel> make_pack(const OpCall& call);
std::unique_ptr<Kernel> make_reduce_sum(const OpCall& call);
std::unique_ptr<Kernel> make_reduce_mean(const OpCall& call);
std::unique_ptr<Kernel> make_batch_mean(const OpCall& call);
std::unique_ptr<Kernel> make_batch_mean_grad(const OpCall& call);
std::unique_ptr<Kernel> make_matmul(const OpCall& call);
std::unique_ptr<Kernel> make_conv2d(const OpCall& call);
std::unique_ptr<Kernel> make_conv2d_grad_data(const OpCall& call);
std::unique_ptr<Kernel> make_conv2d_grad_weights(const OpCall& call);
std::unique_ptr<Kernel> make_max_pool(const OpCall& call);
std::unique_ptr<Kernel> make_max_pool_grad(const OpCall& call);
std::unique_ptr<Kernel> make_softmax(const OpCall& call);
std::unique_ptr<Kernel> make_softmax_grad(const OpCall& call);
std::unique_ptr<Kernel> make_softmax_cross_entropy(const OpCall& call);
std::unique_ptr<Kernel> make_softmax_cross_entropy_grad(const OpCall& call);
std::unique_ptr<Kernel> make_count_correct(const OpCall& call);
std::unique_ptr<Kernel> make_learning_rate(const OpCall& call);
std::unique_ptr<Kernel> make_global_norm_factor(const OpCall& call);
std::unique_ptr<Kernel> make_sgd_update(const OpCall& call);
std::unique_ptr<Kernel> make_adam_update(const OpCall& call);

}  // namespace troupe::cpu
