#pragma once

#include <memory>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

/// Adds every kernel below; the table of kernel_table.cpp says which function makes which op.
void add_kernels(KernelTable& table);

std::unique_ptr<Kernel> make_add(const OpCall& call);
std::unique_ptr<Kernel> make_add_n(const OpCall& call);
std::unique_ptr<Kernel> make_sub(const OpCall& call);
std::unique_ptr<Kernel> make_mul(const OpCall& call);
std::unique_ptr<Kernel> make_div(const OpCall& call);
std::unique_ptr<Kernel> make_scale(const OpCall& call);
std::unique_ptr<Kernel> make_relu(const OpCall& call);
std::unique_ptr<Kernel> make_relu_grad(const OpCall& call);
std::unique_ptr<Kernel> make_relu_grad_bias(const OpCall& call);
std::unique_ptr<Kernel> make_fused_elementwise(const OpCall& call);
std::unique_ptr<Kernel> make_exp(const OpCall& call);
std::unique_ptr<Kernel> make_log(const OpCall& call);
std::unique_ptr<Kernel> make_sqrt(const OpCall& call);
std::unique_ptr<Kernel> make_rsqrt(const OpCall& call);
std::unique_ptr<Kernel> make_abs(const OpCall& call);
std::unique_ptr<Kernel> make_abs_grad(const OpCall& call);
std::unique_ptr<Kernel> make_pow(const OpCall& call);
std::unique_ptr<Kernel> make_clip(const OpCall& call);
std::unique_ptr<Kernel> make_clip_grad(const OpCall& call);
std::unique_ptr<Kernel> make_tanh(const OpCall& call);
std::unique_ptr<Kernel> make_tanh_grad(const OpCall& call);
std::unique_ptr<Kernel> make_sigmoid(const OpCall& call);
std::unique_ptr<Kernel> make_sigmoid_grad(const OpCall& call);
std::unique_ptr<Kernel> make_gelu(const OpCall& call);
std::unique_ptr<Kernel> make_gelu_grad(const OpCall& call);
std::unique_ptr<Kernel> make_gelu_tanh(const OpCall& call);
std::unique_ptr<Kernel> make_gelu_tanh_grad(const OpCall& call);
std::unique_ptr<Kernel> make_silu(const OpCall& call);
std::unique_ptr<Kernel> make_silu_grad(const OpCall& call);
std::unique_ptr<Kernel> make_softplus(const OpCall& call);
std::unique_ptr<Kernel> make_equal(const OpCall& call);
std::unique_ptr<Kernel> make_not_equal(const OpCall& call);
std::unique_ptr<Kernel> make_less(const OpCall& call);
std::unique_ptr<Kernel> make_less_equal(const OpCall& call);
std::unique_ptr<Kernel> make_where(const OpCall& call);
std::unique_ptr<Kernel> make_cast(const OpCall& call);
std::unique_ptr<Kernel> make_all_finite(const OpCall& call);
std::unique_ptr<Kernel> make_at_least(const OpCall& call);
std::unique_ptr<Kernel> make_check_finite(const OpCall& call);
std::unique_ptr<Kernel> make_control_dependency(const OpCall& call);
std::unique_ptr<Kernel> make_pack(const OpCall& call);
std::unique_ptr<Kernel> make_slice(const OpCall& call);
std::unique_ptr<Kernel> make_pad(const OpCall& call);
std::unique_ptr<Kernel> make_concat(const OpCall& call);
std::unique_ptr<Kernel> make_slice_rows(const OpCall& call);
std::unique_ptr<Kernel> make_slice_rows_grad(const OpCall& call);
std::unique_ptr<Kernel> make_rows_of_part(const OpCall& call);
std::unique_ptr<Kernel> make_transpose(const OpCall& call);
std::unique_ptr<Kernel> make_gather(const OpCall& call);
std::unique_ptr<Kernel> make_scatter_add(const OpCall& call);
std::unique_ptr<Kernel> make_one_hot(const OpCall& call);
std::unique_ptr<Kernel> make_load_rows(const OpCall& call);
std::unique_ptr<Kernel> make_argmax(const OpCall& call);
std::unique_ptr<Kernel> make_orthonormalize(const OpCall& call);
std::unique_ptr<Kernel> make_top_k(const OpCall& call);
std::unique_ptr<Kernel> make_top_k_grad(const OpCall& call);
std::unique_ptr<Kernel> make_cumulative_sum(const OpCall& call);
std::unique_ptr<Kernel> make_reduce_sum(const OpCall& call);
std::unique_ptr<Kernel> make_reduce_mean(const OpCall& call);
std::unique_ptr<Kernel> make_reduce_max(const OpCall& call);
std::unique_ptr<Kernel> make_reduce_min(const OpCall& call);
std::unique_ptr<Kernel> make_reduce_variance(const OpCall& call);
std::unique_ptr<Kernel> make_broadcast_to(const OpCall& call);
std::unique_ptr<Kernel> make_batch_mean(const OpCall& call);
std::unique_ptr<Kernel> make_batch_mean_grad(const OpCall& call);
std::unique_ptr<Kernel> make_matmul(const OpCall& call);
std::unique_ptr<Kernel> make_matmul_relu_grad_bias(const OpCall& call);
std::unique_ptr<Kernel> make_matmul_gelu_tanh(const OpCall& call);
std::unique_ptr<Kernel> make_matmul_gelu_tanh_grad(const OpCall& call);
std::unique_ptr<Kernel> make_outer_sum(const OpCall& call);
std::unique_ptr<Kernel> make_attention(const OpCall& call);
std::unique_ptr<Kernel> make_attention_grad(const OpCall& call);
std::unique_ptr<Kernel> make_conv2d(const OpCall& call);
std::unique_ptr<Kernel> make_conv2d_grad_data(const OpCall& call);
std::unique_ptr<Kernel> make_conv2d_grad_weights(const OpCall& call);
std::unique_ptr<Kernel> make_max_pool(const OpCall& call);
std::unique_ptr<Kernel> make_max_pool_grad(const OpCall& call);
std::unique_ptr<Kernel> make_average_pool(const OpCall& call);
std::unique_ptr<Kernel> make_average_pool_grad(const OpCall& call);
std::unique_ptr<Kernel> make_layer_norm(const OpCall& call);
std::unique_ptr<Kernel> make_layer_norm_grad(const OpCall& call);
std::unique_ptr<Kernel> make_rms_norm(const OpCall& call);
std::unique_ptr<Kernel> make_rms_norm_grad(const OpCall& call);
std::unique_ptr<Kernel> make_batch_sums(const OpCall& call);
std::unique_ptr<Kernel> make_batch_moments(const OpCall& call);
std::unique_ptr<Kernel> make_batch_norm(const OpCall& call);
std::unique_ptr<Kernel> make_batch_norm_grad_sums(const OpCall& call);
std::unique_ptr<Kernel> make_batch_norm_grad(const OpCall& call);
std::unique_ptr<Kernel> make_dropout(const OpCall& call);
std::unique_ptr<Kernel> make_lstm(const OpCall& call);
std::unique_ptr<Kernel> make_lstm_grad(const OpCall& call);
std::unique_ptr<Kernel> make_softmax(const OpCall& call);
std::unique_ptr<Kernel> make_softmax_grad(const OpCall& call);
std::unique_ptr<Kernel> make_log_softmax(const OpCall& call);
std::unique_ptr<Kernel> make_log_softmax_grad(const OpCall& call);
std::unique_ptr<Kernel> make_softmax_cross_entropy(const OpCall& call);
std::unique_ptr<Kernel> make_softmax_cross_entropy_grad(const OpCall& call);
std::unique_ptr<Kernel> make_soft_cross_entropy(const OpCall& call);
std::unique_ptr<Kernel> make_soft_cross_entropy_grad(const OpCall& call);
std::unique_ptr<Kernel> make_count_correct(const OpCall& call);
std::unique_ptr<Kernel> make_learning_rate(const OpCall& call);
std::unique_ptr<Kernel> make_global_norm_factor(const OpCall& call);
std::unique_ptr<Kernel> make_sgd_update(const OpCall& call);
std::unique_ptr<Kernel> make_adam_update(const OpCall& call);
std::unique_ptr<Kernel> make_step_number(const OpCall& call);
std::unique_ptr<Kernel> make_table_rate(const OpCall& call);
std::unique_ptr<Kernel> make_lamb_update(const OpCall& call);
std::unique_ptr<Kernel> make_squares_update(const OpCall& call);
std::unique_ptr<Kernel> make_sgd_updates(const OpCall& call);
std::unique_ptr<Kernel> make_adam_updates(const OpCall& call);
std::unique_ptr<Kernel> make_squares_updates(const OpCall& call);
std::unique_ptr<Kernel> make_assign(const OpCall& call);
std::unique_ptr<Kernel> make_accumulation(const OpCall& call);
std::unique_ptr<Kernel> make_accumulate(const OpCall& call);
std::unique_ptr<Kernel> make_average(const OpCall& call);

}  // namespace troupe::cpu
