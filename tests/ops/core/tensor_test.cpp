#include "troupe/ops/core/tensor.hpp"

#include <algorithm>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

/// The numbers 0, 1, 2, ... in a shape.
Tensor counting(const Shape& shape) {
  std::vector<float> elements(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
  return Tensor::from<float>(shape, elements);
}

}  // namespace

TEST_CASE("a new tensor is zeroed, even on memory that was used before", "[tensor]") {
  const Shape shape{1000};
  { std::ranges::fill(Tensor(shape, DType::float32).mutable_data<float>(), 1.0F); }
  const Tensor tensor(shape, DType::float32);
  CHECK(std::ranges::all_of(tensor.data<float>(), [](float x) { return x == 0.0F; }));
  CHECK(tensor.bytes() == 4000);
  CHECK(reinterpret_cast<std::uintptr_t>(tensor.raw()) % Allocator::kAlignment == 0);
}

TEST_CASE("copies of a handle share the elements, clones do not", "[tensor]") {
  const auto tensor = counting({3});
  CHECK(tensor.use_count() == 1);
  const auto copy = tensor;
  CHECK(tensor.use_count() == 2);
  CHECK(copy.same_as(tensor));
  const auto clone = tensor.clone();
  CHECK_FALSE(clone.same_as(tensor));
  copy.mutable_data<float>()[1] = 7.0F;
  CHECK(tensor.data<float>()[1] == 7.0F);
  CHECK(clone.data<float>()[1] == 1.0F);
}

TEST_CASE("a view is the same memory under another shape", "[tensor]") {
  const auto tensor = counting({4, 3});
  const auto view = tensor.view({2, 2}, 3 * sizeof(float));
  CHECK(std::ranges::equal(view.data<float>(), std::vector<float>{3, 4, 5, 6}));
  view.mutable_data<float>()[0] = -1.0F;
  CHECK(tensor.data<float>()[3] == -1.0F);
  CHECK(view.view({1}, 3 * sizeof(float)).item<float>() == 6.0F);
  CHECK(tensor.view({48}, DType::uint8, 0).bytes() == 48);
}

TEST_CASE("a view keeps the memory after the tensor is gone", "[tensor]") {
  auto tensor = counting({4});
  const auto view = tensor.view({2}, 8);
  tensor = Tensor();
  const auto other = counting({4});
  CHECK(view.data<float>()[1] == 3.0F);
  CHECK_FALSE(tensor);
}

TEST_CASE("a view that reaches past the end is refused", "[tensor]") {
  const auto tensor = counting({4});
  CHECK(contains(error_of([&] { (void)tensor.view({5}); }), "[tensor] a view [5] reaches past the end"));
  CHECK_FALSE(error_of([&] { (void)tensor.view({1}, 16); }).empty());
  CHECK_FALSE(error_of([&] { (void)tensor.view({4}, 8).view({3}); }).empty());
  CHECK_FALSE(error_of([&] { (void)tensor.view({0}, 17); }).empty());
  CHECK(error_of([&] { (void)tensor.view({0}, 16); }).empty());
  // The number of bytes wraps around in 64 bits.
  CHECK_FALSE(error_of([&] { (void)tensor.view({std::int64_t{1} << 62}); }).empty());
}

TEST_CASE("elements are read by their own dtype only", "[tensor]") {
  const auto tensor = Tensor::scalar<std::int32_t>(-5);
  CHECK(tensor.item<std::int32_t>() == -5);
  CHECK(contains(error_of([&] { (void)tensor.data<float>(); }), "int32[] on cpu:0 was read as float32"));
  CHECK(contains(error_of([&] { (void)counting({2}).item<float>(); }), "float32[2] on cpu:0 is not one element"));
}

TEST_CASE("impossible tensors are refused", "[tensor]") {
  const std::vector<float> three(3);
  CHECK(contains(error_of([&] { (void)Tensor::from<float>({2, 2}, three); }), "[2, 2] does not hold 3 elements"));
  CHECK_FALSE(error_of([] { Tensor({kBatch, 2}, DType::float32); }).empty());
  CHECK(contains(error_of([] { Tensor({std::int64_t{1} << 62}, DType::int64); }), "larger than memory"));
  CHECK(contains(error_of([] { Tensor({std::int64_t{1} << 50}, DType::float32); }), "[allocator] out of memory"));
  CHECK(contains(error_of([] { Tensor({1}, DType::float32, {DeviceType::cuda, 99}); }), "cuda:99"));
}

TEST_CASE("an empty tensor has a shape and no elements", "[tensor]") {
  const Tensor empty({0, 5}, DType::float32);
  CHECK(empty);
  CHECK(empty.elements() == 0);
  CHECK(empty.clone().shape() == Shape{0, 5});
  CHECK(empty.view({5, 0}).data<float>().empty());
}

TEST_CASE("every accessor of an empty handle throws", "[tensor]") {
  const Tensor none;
  CHECK_FALSE(none);
  const std::string expected = "[tensor] a handle without a tensor";
  CHECK(contains(error_of([&] { (void)none.shape(); }), expected));
  CHECK(contains(error_of([&] { (void)none.dtype(); }), expected));
  CHECK(contains(error_of([&] { (void)none.device(); }), expected));
  CHECK(contains(error_of([&] { (void)none.elements(); }), expected));
  CHECK(contains(error_of([&] { (void)none.bytes(); }), expected));
  CHECK(contains(error_of([&] { (void)none.raw(); }), expected));
  CHECK(contains(error_of([&] { (void)none.data<float>(); }), expected));
  CHECK(contains(error_of([&] { (void)none.item<float>(); }), expected));
  CHECK(contains(error_of([&] { (void)none.view({1}); }), expected));
  CHECK(contains(error_of([&] { (void)none.clone(); }), expected));
  CHECK(contains(error_of([&] { (void)none.copy_to_host(); }), expected));
}

TEST_CASE("a tensor can stand on memory from elsewhere and keeps it", "[tensor]") {
  const auto numbers = std::make_shared<std::vector<float>>(std::vector<float>{1.0F, 2.0F});
  const std::shared_ptr<std::byte> memory(numbers, reinterpret_cast<std::byte*>(numbers->data()));
  {
    const Tensor tensor(memory, {2}, DType::float32);
    CHECK(tensor.data<float>()[1] == 2.0F);
    tensor.mutable_data<float>()[0] = 5.0F;
    CHECK(numbers.use_count() == 3);
  }
  CHECK(numbers.use_count() == 2);
  CHECK((*numbers)[0] == 5.0F);
  CHECK_FALSE(error_of([] { Tensor(nullptr, {2}, DType::float32); }).empty());
}

TEST_CASE("a tensor that the host may touch is its own copy on the host", "[tensor]") {
  const auto tensor = counting({3});
  CHECK(tensor.copy_to_host().same_as(tensor));
  const auto moved = tensor.to({DeviceType::cpu, 1});
  CHECK_FALSE(moved.same_as(tensor));
  CHECK(to_string(moved) == "float32[3] on cpu:1");
  CHECK(std::ranges::equal(moved.data<float>(), tensor.data<float>()));
  CHECK(Tensor::pinned({2}, DType::int64, {}).data<std::int64_t>()[1] == 0);
}

TEST_CASE("a tensor prints its dtype, shape and device", "[tensor]") {
  CHECK(to_string(Tensor({2, 3}, DType::uint8)) == "uint8[2, 3] on cpu:0");
  CHECK(to_string(Tensor()) == "no tensor");
}

TEST_CASE("every dtype has a size and a name", "[dtype]") {
  const std::vector<std::pair<DType, std::pair<std::size_t, std::string_view>>> expected{
      {DType::float32, {4, "float32"}}, {DType::int32, {4, "int32"}},     {DType::int64, {8, "int64"}},
      {DType::uint8, {1, "uint8"}},     {DType::float16, {2, "float16"}}, {DType::bfloat16, {2, "bfloat16"}}};
  for (const auto& [dtype, size_and_name] : expected) {
    CHECK(size_of(dtype) == size_and_name.first);
    CHECK(name_of(dtype) == size_and_name.second);
  }
}

}  // namespace troupe::ops_test
