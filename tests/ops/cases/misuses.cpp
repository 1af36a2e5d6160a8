#include "troupe/tests/ops/cases/misuses.hpp"

namespace troupe::ops_test {

namespace {

using List = std::vector<std::int64_t>;

std::vector<Misuse> elementwise_misuses() {
  return {
      {"input", {f32({2})}},
      {"parameter", {f32({2})}},
      {"constant", {f32({2})}},
      {"add", {f32({kBatch, 3}), f32({4})}},
      {"add", {f32({kBatch, 3}), f32({5, 3})}},
      {"add", {f32({kBatch}), f32({3, 1})}},
      {"add_n", {}},
      {"add_n", {f32({4}), f32({1})}},
      {"add_n", {f32({4}), i32({4})}},
      {"add_n", {{Shape{4}, DType::uint8}}},
      {"sub", {f32({2, 3}), f32({3, 2})}},
      {"sub", {f32({2}), i32({2})}},
      {"mul", {f32({2})}},
      {"div", {f32({2}), i64({2})}},
      {"scale", {i64({4})}, {{"factor", 2.0}}},
      {"relu", {i32({4})}},
      {"relu_grad", {f32({4}), f32({5})}},
      {"relu_grad_bias", {f32({4}), f32({4})}},
      {"relu_grad_bias", {f32({4, 2}), f32({4, 3})}},
      {"check_finite", {i32({4})}},
      {"control_dependency", {f32({4})}},
      {"all_finite", {f32({4}), i32({4})}},
      {"largest_magnitude", {f32({4}), i32({4})}, {{"bound", 1.0}}},
      {"at_least", {i32({4})}, {{"threshold", 0.5}}},
      {"at_most", {i32({4})}, {{"threshold", 0.5}}},
  };
}

std::vector<Misuse> view_and_reduce_misuses() {
  return {
      {"reshape", {f32({2, 3})}, {{"shape", List{7}}}},
      {"reshape", {f32({kBatch, 3})}, {{"shape", List{3}}}},
      {"reshape", {f32({3})}, {{"shape", List{kBatch, 1}}}},
      {"view_at", {f32({2, 3})}, {{"offset", std::int64_t{4}}, {"shape", List{3}}}},
      {"view_at", {f32({2, 3})}, {{"offset", std::int64_t{-1}}, {"shape", List{3}}}},
      {"view_at", {f32({kBatch, 3})}, {{"offset", std::int64_t{0}}, {"shape", List{3}}}},
      {"pack", {f32({3}), i32({3})}},
      {"pack", {f32({3}), f32({kBatch, 3})}},
      {"all_reduce", {f32({kBatch, 3})}},
      {"all_gather", {f32({kBatch, 3})}, {{"replicas", std::int64_t{2}}}},
      {"all_gather", {f32({3})}, {{"replicas", std::int64_t{0}}}},
      {"orthonormalize", {f32({3})}},
      {"orthonormalize", {f32({kBatch, 3})}},
      {"orthonormalize", {i32({2, 3})}},
      {"reduce_sum", {f32({2, 3})}, {{"axes", List{2}}}},
      {"reduce_sum", {f32({2, 3})}, {{"axes", List{1, 1}}}},
      {"reduce_sum", {f32({2, 3})}, {{"axes", List{-1}}}},
      {"reduce_mean", {f32({kBatch, 3})}, {{"axes", List{0}}}},
      {"reduce_mean", {f32({0, 3})}, {{"axes", List{0}}}},
      {"broadcast_to", {f32({3}), f32({2, 3})}},
      {"broadcast_to", {f32({3, 2}), f32({3, 4})}},
      {"broadcast_to", {i32({1, 4}), f32({3, 4})}},
      {"batch_mean", {f32({kBatch, 1}), i64({4})}},
      {"batch_mean", {f32({kBatch}), i64({3})}},
      {"batch_mean_grad", {f32({}), i32({4}), f32({kBatch})}},
  };
}

std::vector<Misuse> product_misuses() {
  const Attributes plain{{"transpose_a", false}, {"transpose_b", false}, {"relu", false}};
  const Attributes geometry{
      {"stride", std::int64_t{1}}, {"padding", std::int64_t{0}}, {"groups", std::int64_t{1}}, {"relu", false}};
  const Attributes pool{{"kernel_size", std::int64_t{2}}, {"stride", std::int64_t{2}}, {"padding", std::int64_t{0}}};
  const auto image = f32({kBatch, 4, 4, 3});
  const auto weights = f32({3, 3, 3, 8});
  return {
      {"matmul", {f32({2, 3}), f32({4, 5})}, plain},
      {"matmul", {f32({2, 3}), f32({3})}, plain},
      {"matmul", {f32({2, 3}), f32({3, 5}), f32({4})}, plain},
      {"matmul", {f32({2, 3}), f32({kBatch, 3})}, plain.with("transpose_b", true)},
      {"matmul", {i32({2, 3}), f32({3, 4})}, plain},
      {"conv2d", {image, f32({3, 3, 4, 8})}, geometry},
      {"conv2d", {image, f32({5, 5, 3, 8})}, geometry},
      {"conv2d", {image, weights, f32({7})}, geometry},
      {"conv2d", {image, weights}, geometry.with("stride", std::int64_t{0})},
      {"conv2d", {image, weights}, geometry.with("padding", std::int64_t{-1})},
      {"conv2d", {f32({4, 4, 3}), weights}, geometry},
      {"conv2d", {image, weights}, geometry.with("groups", std::int64_t{2})},
      {"conv2d", {image, weights}, geometry.with("groups", std::int64_t{3})},
      {"conv2d", {image, weights}, geometry.with("groups", std::int64_t{0})},
      {"conv2d", {image, f32({3, 3, 3, 0})}, geometry},
      {"conv2d_grad_data", {image}},
      {"conv2d_grad_weights", {image}},
      {"max_pool", {f32({kBatch, 1, 4, 3})}, pool},
      {"max_pool", {image}, pool.with("kernel_size", std::int64_t{16})},
      {"max_pool", {image}, pool.with("stride", std::int64_t{0})},
      {"max_pool", {image}, pool.with("padding", std::int64_t{2})},
      {"max_pool_grad", {image}},
      {"average_pool", {f32({kBatch, 1, 4, 3})}, pool},
      {"average_pool", {f32({kBatch, 4})}, pool},
      {"average_pool", {image}, pool.with("stride", std::int64_t{0})},
      {"average_pool", {image}, pool.with("padding", std::int64_t{2})},
      {"average_pool_grad", {image, image}},
  };
}

std::vector<Misuse> loss_misuses() {
  return {
      {"softmax", {f32({})}},
      {"softmax", {f32({kBatch})}},
      {"softmax_grad", {f32({2, 2})}},
      {"softmax_cross_entropy", {f32({kBatch, 3}), f32({kBatch})}, {{"smoothing", 0.0}}},
      {"softmax_cross_entropy", {f32({kBatch, 3}), i32({5})}, {{"smoothing", 0.0}}},
      {"softmax_cross_entropy", {f32({kBatch, 0}), i32({kBatch})}, {{"smoothing", 0.0}}},
      {"softmax_cross_entropy", {f32({kBatch, 3}), i32({kBatch})}, {{"smoothing", 1.5}}},
      {"soft_cross_entropy", {f32({kBatch, 3}), f32({kBatch, 4})}},
      {"soft_cross_entropy", {f32({kBatch}), f32({kBatch})}},
      {"soft_cross_entropy_grad", {f32({kBatch}), f32({kBatch, 4})}},
      {"log_softmax", {f32({kBatch})}},
      {"log_softmax_grad", {f32({kBatch, 2})}},
      {"logsumexp", {f32({})}},
      {"logsumexp", {f32({kBatch})}},
      {"logsumexp", {f32({kBatch, 0})}},
      {"logsumexp", {i32({kBatch, 2})}},
      {"softmax_cross_entropy_grad", {f32({kBatch, 3}), i32({kBatch})}},
      {"softmax_cross_entropy_logits_grad", {f32({kBatch, 3}), i32({kBatch})}},
      {"softmax_cross_entropy_logits_grad", {f32({}), f32({kBatch, 3}), i32({kBatch})}},
      {"softmax_cross_entropy_logits_grad", {f32({}), f32({kBatch, 3}), i32({kBatch}), i64({3})}},
      {"count_correct", {f32({kBatch, 2, 3}), i32({kBatch})}},
  };
}

std::vector<Misuse> math_misuses() {
  std::vector<Misuse> all;
  for (const auto* op :
       {"exp", "log", "sqrt", "rsqrt", "abs", "pow", "tanh", "sigmoid", "gelu", "gelu_tanh", "silu", "softplus"})
    all.push_back({op, {i32({4})}});
  for (const auto* op :
       {"abs_grad", "clip_grad", "tanh_grad", "sigmoid_grad", "gelu_grad", "gelu_tanh_grad", "silu_grad"})
    all.push_back({op, {f32({4}), f32({5})}});
  for (const auto* op : {"equal", "not_equal", "less", "less_equal"}) {
    all.push_back({op, {f32({4}), i32({4})}});
    all.push_back({op, {f32({4}), f32({5})}});
    all.push_back({op, {{{4}, DType::bfloat16}, {{4}, DType::bfloat16}}});
  }
  const TensorInfo mask{{4}, DType::uint8};
  for (auto& misuse : std::vector<Misuse>{{"clip", {f32({4})}, {{"least", 1.0}, {"most", 0.0}}},
                                          {"where", {f32({4}), f32({4}), f32({4})}},
                                          {"where", {mask, i32({4}), i32({4})}},
                                          {"where", {mask, f32({3}), f32({4})}},
                                          {"cast", {f32({4})}, {{"dtype", std::int64_t{77}}}}})
    all.push_back(std::move(misuse));
  return all;
}

std::vector<Misuse> moving_misuses() {
  const auto axis = [](std::int64_t number) { return Attributes{{"axis", number}}; };
  const auto box = [](const List& begin, const List& size) { return Attributes{{"begin", begin}, {"size", size}}; };
  const auto padding = [](const List& before, const List& after) {
    return Attributes{{"before", before}, {"after", after}, {"value", 0.0}};
  };
  const Attributes rows{{"begin", std::int64_t{0}}, {"size", std::int64_t{2}}};
  return {
      {"slice", {f32({2, 3})}, box({0, 1}, {2, 3})},
      {"slice", {f32({2, 3})}, box({0}, {2})},
      {"slice", {f32({kBatch, 3})}, box({1, 0}, {kBatch, 3})},
      {"slice", {f32({2, 3})}, box({0, -1}, {2, 1})},
      {"pad", {f32({2, 3})}, padding({0}, {0})},
      {"pad", {f32({2, 3})}, padding({0, -1}, {0, 0})},
      {"pad", {f32({kBatch, 3})}, padding({1, 0}, {0, 0})},
      {"pad", {{{2}, DType::uint8}}, padding({1}, {0}).with("value", -1.0)},
      {"pad", {{{2}, DType::bfloat16}}, padding({1}, {0})},
      {"concat", {f32({2, 3}), f32({2, 3})}, axis(2)},
      {"concat", {f32({kBatch, 3}), f32({kBatch, 3})}, axis(0)},
      {"concat", {f32({2, 3}), i32({2, 3})}, axis(1)},
      {"concat", {f32({5, 3}), f32({kBatch, 3})}, axis(0)},
      {"concat", {f32({2, 3}), f32({3, 3})}, axis(1)},
      {"slice_rows", {f32({2, 3}), i64({4})}, rows},
      {"slice_rows", {f32({kBatch, 3}), i64({3})}, rows},
      {"slice_rows", {f32({kBatch, 3}), i64({4})}, rows.with("size", std::int64_t{-1})},
      {"slice_rows_grad", {f32({kBatch, 3}), i64({4})}, rows},
      {"rows_of_part", {f32({kBatch, 3}), f32({kBatch}), i64({4})}},
      {"rows_of_part", {f32({3}), f32({2}), i64({4})}},
      {"rows_of_part", {f32({3}), f32({kBatch}), i64({3})}},
      {"transpose", {f32({2, 3})}, {{"order", List{0}}}},
      {"transpose", {f32({2, 3})}, {{"order", List{1, 1}}}},
      {"transpose", {f32({kBatch, 3})}, {{"order", List{1, 0}}}},
      {"gather", {f32({2, 3}), f32({4})}},
      {"gather", {i32({2, 3}), i32({4})}},
      {"gather", {f32({kBatch, 3}), i32({4})}},
      {"load_rows", {f32({2, 3}), i64({kBatch})}},
      {"load_rows", {f32({2, 3}), i32({kBatch, 1})}},
      {"load_rows", {f32({kBatch, 3}), i32({kBatch})}},
      {"load_rows", {i32({2, 3}), i32({kBatch})}, {{"scale", 2.0}, {"shift", 0.0}}},
      {"scatter_add", {f32({4, 3}), i32({5})}, {{"rows", std::int64_t{2}}}},
      {"scatter_add", {f32({4, 3}), i32({4})}, {{"rows", std::int64_t{-2}}}},
      {"one_hot", {f32({4})}, {{"classes", std::int64_t{2}}}},
      {"one_hot", {i32({4})}, {{"classes", std::int64_t{0}}}},
      {"argmax", {f32({kBatch, 3})}, axis(0)},
      {"argmax", {f32({4, 0})}, axis(1)},
      {"argmax", {f32({std::int64_t{1} << 31})}, axis(0)},
      {"top_k", {f32({4, 3})}, {{"k", std::int64_t{4}}}},
      {"top_k", {f32({std::int64_t{1} << 31})}, {{"k", std::int64_t{1}}}},
      {"top_k", {f32({kBatch})}, {{"k", std::int64_t{1}}}},
      {"top_k_grad", {f32({4, 3})}, {{"size", std::int64_t{4}}}},
      {"cumulative_sum", {i32({4, 3})}, axis(1)},
      {"cumulative_sum", {f32({kBatch, 3})}, axis(0)},
      {"reduce_max", {f32({kBatch, 3})}, {{"axes", List{0}}}},
      {"reduce_min", {f32({2, 0})}, {{"axes", List{1}}}},
      {"reduce_variance", {f32({2, 3})}, {{"axes", List{2}}}},
  };
}

std::vector<Misuse> layer_misuses() {
  const Attributes plain{{"transpose_a", false}, {"transpose_b", false}, {"relu", false}};
  const Attributes heads{{"heads", std::int64_t{2}}, {"causal", false}};
  const Attributes epsilon{{"epsilon", 1e-5}};
  const Attributes rate{{"rate", 0.5}, {"seed", std::int64_t{1}}, {"stream", std::int64_t{0}}};
  const Attributes batch{{"epsilon", 1e-5}, {"of_batch", true}, {"all_reduced", false}, {"relu", false}};
  const auto q = f32({kBatch, 3, 4}), c = f32({4}), state = f32({kBatch, 2}), gates = f32({kBatch, 3, 8});
  return {
      {"matmul", {f32({kBatch, 2, 3}), f32({kBatch, 2, 4})}, plain},
      {"matmul", {f32({kBatch, 2, 3}), f32({5, 3, 4})}, plain},
      {"matmul", {f32({kBatch, 3, 2}), f32({3, 4})}, plain.with("transpose_a", true)},
      {"outer_sum", {f32({4, 2}), f32({5, 3})}},
      {"outer_sum", {f32({4}), f32({4})}},
      {"attention", {q, q, f32({kBatch, 4, 4})}, heads},
      {"attention", {q, f32({kBatch, 3, 6}), q}, heads},
      {"attention", {q, q, q}, heads.with("heads", std::int64_t{3})},
      {"attention", {q, f32({kBatch, 2, 4}), f32({kBatch, 2, 4})}, heads.with("causal", true)},
      {"attention", {q, q, q, f32({3, 3})}, heads},
      {"attention", {q, q, q, {{3, 4}, DType::uint8}}, heads},
      {"attention_grad", {q, q, q}},
      {"layer_norm", {q, c, f32({3})}, epsilon},
      {"layer_norm", {f32({kBatch}), c, c}, epsilon},
      {"layer_norm", {q, c, c}, {{"epsilon", -1.0}}},
      {"layer_norm_grad", {q, q}},
      {"rms_norm", {q, f32({3})}, epsilon},
      {"rms_norm_grad", {q, q}},
      {"replica_moments", {f32({3, 4})}},
      {"replica_moments", {q, c}},
      {"batch_moments", {f32({2, 4})}},
      {"batch_moments", {f32({1, 2, 4})}},
      {"batch_moments", {{{1, 3, 4}, DType::int32}}},
      {"batch_norm", {q, c, c, c, f32({3}), f32({})}, batch},
      {"batch_norm", {q, c, c, c, c, f32({}), c}, batch},
      {"batch_norm", {q, c, c, c, c, i64({4})}, batch},
      {"batch_norm_grad_sums", {q, q, c}},
      {"batch_norm_grad_sums", {q, q, c, c, c}, Attributes{{"relu", true}}},
      {"batch_norm_grad_sums", {q, q, c, c, c, q}, Attributes{{"relu", true}}},
      {"batch_norm_grad_sums", {q, q, c, c, q}, Attributes{{"relu", false}}},
      {"batch_norm_grad", {q, q, c}},
      {"batch_norm_grad", {q, q, c, c, c, f32({}), q}, Attributes{{"relu", true}, {"of_batch", false}}},
      {"dropout", {q, i64({4})}, rate.with("rate", 1.0)},
      {"dropout", {c, i64({4})}, rate},
      {"dropout", {q, i64({4})}, rate.with("stream", std::int64_t{-1})},
      {"dropout", {q, i64({3})}, rate},
      {"lstm", {gates, f32({2, 6}), state, state}},
      {"lstm", {f32({kBatch, 3, 6}), f32({2, 8}), state, state}},
      {"lstm", {gates, f32({2, 8}), state, f32({kBatch, 3})}},
      {"lstm_grad", {gates, state}},
  };
}

}  // namespace

std::vector<Misuse> misuses() {
  std::vector<Misuse> all;
  for (const auto part : {elementwise_misuses, math_misuses, moving_misuses, layer_misuses, view_and_reduce_misuses,
                          product_misuses, loss_misuses, update_misuses, fused_misuses})
    for (auto& misuse : part()) all.push_back(std::move(misuse));
  return all;
}

}  // namespace troupe::ops_test
