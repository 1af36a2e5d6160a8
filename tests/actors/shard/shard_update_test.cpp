#include "troupe/actors/shard/shard_update.hpp"

#include <limits>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/strategies/step/split_training.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

const std::vector<TrainedParameter> kParameters{{"a", {Shape{3}, DType::float32}, {}},
                                                {"b", {Shape{2, 2}, DType::float32}, {}}};

/// An update by plain gradient descent, of parameters a = 1, 2, 3 and b = 4, 5, 6, 7.
struct Bound {
  Bound() : update(update_graph(Sgd{.lr = 0.5}, 0, kParameters), {"a", "b"}) {
    for (const auto& stored : update.stored()) tensors.push_back(stored.name == "a" ? a : b);
    update.bind(tensors);
  }

  Tensor a = Tensor::from<float>({3}, {1, 2, 3}), b = Tensor::from<float>({2, 2}, {4, 5, 6, 7});
  std::vector<Tensor> tensors;
  ShardUpdate update;
};

std::vector<float> elements(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

/// A block of gradients: 2, 4, 6 of a, and 8, 10, 12, 14 of b.
Tensor gradients(const ShardUpdate& update, float magnitude = 0.0F) {
  const auto offsets = pack_offsets(
      std::vector<TensorInfo>{{Shape{}, DType::float32}, {Shape{3}, DType::float32}, {Shape{2, 2}, DType::float32}});
  Tensor block(update.gradient_block().shape, DType::float32);
  std::ranges::fill(block.mutable_data<float>(), 0.0F);
  block.mutable_data<float>()[0] = magnitude;
  for (std::size_t i = 0; i < 3; ++i) block.mutable_data<float>()[offsets[1] + i] = 2.0F * static_cast<float>(i + 1);
  for (std::size_t i = 0; i < 4; ++i) block.mutable_data<float>()[offsets[2] + i] = 2.0F * static_cast<float>(i + 4);
  return block;
}

}  // namespace

TEST_CASE("an update of a block where it lies, and of a copy, do the same; one that a replica refuses does nothing") {
  Bound copied, in_place, refused;
  copied.update.take_part(gradients(copied.update), 4, 4);
  copied.update.apply(0, 1);
  for (int i = 0; i < 2; ++i) in_place.update.apply(gradients(in_place.update), i, 1);
  CHECK(elements(copied.a) == std::vector<float>{0, 0, 0});
  CHECK(elements(copied.b) == std::vector<float>{0, 0, 0, 0});
  CHECK(elements(in_place.a) == std::vector<float>{-1, -2, -3});
  CHECK(elements(in_place.b) == std::vector<float>{-4, -5, -6, -7});
  refused.update.apply(gradients(refused.update, std::numeric_limits<float>::infinity()), 0, 1);
  CHECK(elements(refused.a) == std::vector<float>{1, 2, 3});
}

TEST_CASE("a block that was applied where it lies is not held afterwards") {
  Bound bound;
  const auto block = gradients(bound.update);
  bound.update.apply(block, 0, 1);
  CHECK(block.use_count() == 1);
}

TEST_CASE("the gradients of a part of a batch become those of the part's mean loss") {
  Bound bound;
  bound.update.take_part(gradients(bound.update), 1, 4);
  bound.update.apply(0, 1);
  CHECK(elements(bound.a) == std::vector<float>{-3, -6, -9});
}

TEST_CASE("parameters travel as a block: there and back, towards another, and as a change") {
  Bound bound, other;
  Tensor block(bound.update.parameter_block().shape, DType::float32);
  bound.update.pack(block);
  other.update.apply(gradients(other.update), 0, 1);
  // Half of the way from 0 back to 1, 2, 3.
  other.update.move_towards(block, 0.5F);
  CHECK(elements(other.a) == std::vector<float>{0.5, 1, 1.5});
  const auto change = other.update.change_since(block, 12);
  CHECK(ShardUpdate::rows_of_change(change) == 12);
  bound.update.apply(change, 0, 1);
  CHECK(elements(bound.a) == std::vector<float>{0.75, 1.5, 2.25});
  bound.update.unpack(block);
  CHECK(elements(bound.a) == std::vector<float>{1, 2, 3});
  CHECK(elements(bound.b) == std::vector<float>{4, 5, 6, 7});
}

TEST_CASE("a gradient whose delay compensation is not finite is applied as it is") {
  Bound bound;
  Tensor then(bound.update.parameter_block().shape, DType::float32);
  bound.update.pack(then);
  bound.update.apply(gradients(bound.update), 0, 1);  // all 0 now
  const auto block = gradients(bound.update);
  const auto second =
      pack_offsets(std::vector<TensorInfo>{{Shape{}, DType::float32}, {Shape{3}, DType::float32}})[1] + 1;
  block.mutable_data<float>()[static_cast<std::size_t>(second)] = 1e20F;
  bound.update.take_part(block, 1, 1);
  bound.update.compensate(then, 0.25F);
  bound.update.apply(1, 1);
  CHECK(elements(bound.a) == std::vector<float>{-0.5F, -0.5e20F, 10.5F});
}

TEST_CASE("delay compensation follows its formula") {
  Bound bound;
  Tensor then(bound.update.parameter_block().shape, DType::float32);
  bound.update.pack(then);
  bound.update.apply(gradients(bound.update), 0, 1);  // all 0 now
  bound.update.take_part(gradients(bound.update), 1, 1);
  bound.update.compensate(then, 0.25F);
  bound.update.apply(1, 1);
  // g + 0.25 g g (0 - then), half of which is taken away: of a, whose g is 2 and then 1, 2 - 1 and half of that.
  CHECK(elements(bound.a) == std::vector<float>{-0.5, 2, 10.5});
}

TEST_CASE("a block of a parameter that is not updated is refused") {
  CHECK_THROWS_WITH(ShardUpdate(update_graph(Sgd{}, 0, kParameters), {"a", "c"}),
                    Contains("the update has no parameter 'c'"));
}
