#include "troupe/actors/ports/sent_tensors.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("tensors share memory if some bytes belong to both") {
  const Tensor whole({4, 2}, DType::float32), other({4, 2}, DType::float32);
  const auto overlaps = [](const Tensor& a, const Tensor& b) { return overlap(memory_of(a), memory_of(b)); };
  CHECK(overlaps(whole, whole));
  CHECK(overlaps(whole, whole.rows(3, 1)));
  CHECK_FALSE(overlaps(whole.rows(0, 2), whole.rows(2, 2)));
  CHECK_FALSE(overlaps(whole, other));
  CHECK_FALSE(overlaps(whole, whole.rows(2, 0)));
  CHECK_FALSE(overlaps(whole, Tensor()));
}

TEST_CASE("a write to a sent tensor is noticed when its slot is free, through any handle") {
  for (const std::int64_t rows : {4, 100'000}) {
    SentTensors sent;
    const Tensor buffer({rows, 2}, DType::float32), handle = buffer;
    sent.add(0, 0, buffer);
    CHECK(sent.remove(0, 0));
    sent.add(0, 0, buffer);
    sent.add(1, 0, buffer.rows(0, 2));
    for (auto& number : buffer.mutable_data<float>()) number = 1.0F;
    CHECK_FALSE(sent.remove(0, 0));
    CHECK_FALSE(sent.remove(1, 0));
    sent.add(0, 1, buffer);
    CHECK(sent.remove(0, 1));
    CHECK(sent.remove(0, 1));
  }
}

TEST_CASE("the output whose slot carries some memory is found until the slot is free") {
  SentTensors sent;
  const Tensor tensor({4}, DType::float32);
  sent.add(2, 1, tensor.view(Shape{2}, 8));
  CHECK(sent.output_with(memory_of(tensor)) == 2U);
  CHECK_FALSE(sent.output_with(memory_of(tensor.view(Shape{2}))));
  sent.remove(2, 0);
  CHECK(sent.output_with(memory_of(tensor)) == 2U);
  sent.remove(2, 1);
  CHECK_FALSE(sent.output_with(memory_of(tensor)));
}

TEST_CASE("a tensor of which the sender has no handle left may change in the hands of its consumers") {
  SentTensors sent;
  Tensor token;
  {
    const Tensor local({4}, DType::float32), handle = local;
    sent.add(0, 0, local);
    sent.add(0, 1, local);
    token = local;
    local.mutable_data<float>()[0] = 1.0F;
    CHECK_FALSE(sent.remove(0, 1, &token));
    sent.add(0, 1, local);
  }
  token.mutable_data<float>()[0] = 2.0F;
  sent.remove(0, 0);
  CHECK(sent.remove(0, 1, &token));
  CHECK(token.data<float>()[0] == 2.0F);
}
