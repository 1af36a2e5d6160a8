#include "troupe/ops/library/reshape.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_reshape(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  const Shape target(inputs.attributes.list("shape"));
  const auto& from = inputs.shape(0);
  if (from.has_batch() != target.has_batch())
    inputs.refuse("the batch must stay the first axis of " + to_string(target));
  const auto old_size = from.has_batch() ? from.row_elements() : from.elements();
  const auto new_size = target.has_batch() ? target.row_elements() : target.elements();
  if (old_size != new_size) inputs.refuse("does not hold the elements of " + to_string(target));
  return {{target, inputs[0].dtype}};
}

std::vector<Value> grad_reshape(const OpGradient& g) {
  return {reshape(g.dys[0], g.inputs[0].shape())};
}

std::vector<TensorInfo> infer_view_at(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  if (inputs.shape(0).has_batch()) inputs.refuse("cannot take a part of the batch");
  const Shape target(inputs.attributes.list("shape"));
  const auto offset = inputs.attributes.integer("offset");
  if (offset < 0 || target.elements() > inputs.shape(0).elements() - offset)
    inputs.refuse(to_string(target) + " from element " + std::to_string(offset) + " reaches past the end");
  return {{target, inputs[0].dtype}};
}

std::vector<TensorInfo> infer_pack(const OpInputs& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs.expect_dtype(i, DType::float32);
    if (inputs.shape(i).has_batch()) inputs.refuse("cannot pack values derived from the batch");
  }
  return {{Shape{pack_offsets(inputs.infos).back()}, DType::float32}};
}

std::vector<TensorInfo> infer_all_reduce(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  if (inputs.shape(0).has_batch()) inputs.refuse("cannot reduce values derived from the batch");
  return {inputs[0]};
}

std::vector<TensorInfo> infer_all_gather(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  if (inputs.shape(0).has_batch()) inputs.refuse("cannot gather values derived from the batch");
  const auto replicas = inputs.attributes.integer("replicas");
  if (replicas < 1) inputs.refuse("needs at least one replica");
  auto sizes = inputs.shape(0).list();
  sizes.insert(sizes.begin(), replicas);
  return {{Shape(sizes), inputs[0].dtype}};
}

}  // namespace

const OpDef kReshape{.name = "reshape",
                     .kind = OpKind::view,
                     .infer = infer_reshape,
                     .gradient = grad_reshape,
                     .role = HalfRole::follows};
const OpDef kViewAt{.name = "view_at", .kind = OpKind::view, .infer = infer_view_at};
const OpDef kPack{.name = "pack", .kind = OpKind::pack, .infer = infer_pack, .accepts_empty = true};
const OpDef kAllReduce{.name = "all_reduce", .kind = OpKind::collective, .infer = infer_all_reduce};
const OpDef kAllGather{.name = "all_gather", .kind = OpKind::collective, .infer = infer_all_gather};

Value reshape(Value x, const Shape& shape) {
  return x.builder().apply_one(kReshape, {x}, {{"shape", shape.list()}});
}

Value flatten(Value x) {
  const auto& shape = x.shape();
  if (shape.rank() == 0) throw Error("flatten", "a scalar has no rows");
  return reshape(x, Shape{shape[0], shape.row_elements()});
}

Value view_at(Value x, std::int64_t offset, const Shape& shape) {
  return x.builder().apply_one(kViewAt, {x}, {{"offset", offset}, {"shape", shape.list()}});
}

Value pack(std::span<const Value> values) {
  if (values.empty()) throw Error("pack", "nothing to pack");
  return values[0].builder().apply(kPack, values).at(0);
}

std::vector<Value> unpacked(Value block, std::span<const Value> values) {
  std::vector<TensorInfo> infos;
  for (const auto& value : values) infos.push_back(value.info());
  const auto offsets = pack_offsets(infos);
  std::vector<Value> views;
  for (std::size_t i = 0; i < values.size(); ++i) views.push_back(view_at(block, offsets[i], infos[i].shape));
  return views;
}

Value all_reduce(Value x) {
  return x.builder().apply_one(kAllReduce, {x});
}

Value all_gather(Value x, std::int64_t replicas) {
  return x.builder().apply_one(kAllGather, {x}, {{"replicas", replicas}});
}

}  // namespace troupe
