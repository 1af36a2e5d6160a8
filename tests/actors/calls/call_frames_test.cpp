#include "troupe/actors/calls/call_frames.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

std::vector<float> floats_of(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

const CallResult kResult{
    {Tensor::from<float>({2}, {1, 2}), Tensor::from<std::int64_t>({1, 1}, {7})}, {{"w", Tensor::scalar(3.0F)}}, {}};

}  // namespace

TEST_CASE("calls, results and variables arrive as they were sent") {
  const auto call =
      decode_call(encode(OrderedCall{"step", {Tensor::from<float>({1, 2}, {4, 5}), Tensor({0, 3}, DType::int32)}}));
  CHECK(call.function == "step");
  REQUIRE(call.inputs.size() == 2);
  CHECK(floats_of(call.inputs[0]) == std::vector<float>{4, 5});
  CHECK(to_string(call.inputs[1]) == to_string(Tensor({0, 3}, DType::int32)));
  const auto result = decode_result(encode(kResult));
  CHECK(floats_of(result.outputs.at(0)) == std::vector<float>{1, 2});
  CHECK(result.outputs.at(1).item<std::int64_t>() == 7);
  CHECK(result.updates.at(0).name == "w");
  CHECK(result.updates.at(0).delta.item<float>() == 3.0F);
  CHECK(decode_result(encode(CallResult{{}, {}, "wrong"})).error == "wrong");
  CHECK(decode_value(encode(VariableValue{Tensor::scalar(2.0F), {}})).value.item<float>() == 2.0F);
  CHECK(decode_value(encode(VariableValue{{}, "none"})).error == "none");
}

TEST_CASE("more than a link takes is refused before it is copied, and a name that is too long") {
  const std::vector many(17, Tensor({std::int64_t{1} << 26}, DType::float32));
  CHECK_THROWS_WITH(encode(OrderedCall{"step", many}),
                    "[call] its tensors are more than the 4096 MiB that can be sent");
  CHECK_THROWS_WITH(encode(CallResult{many, {}, {}}), Contains("more than the 4096 MiB"));
  CHECK_THROWS_WITH(encode(OrderedCall{std::string(5'000, 'f'), {}}), Contains("is too long"));
}

TEST_CASE("what is cut short, or longer, is refused") {
  const auto bytes = encode(kResult);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_THROWS_AS(decode_result(std::span(bytes).first(length)), Error);
  auto longer = bytes;
  longer.emplace_back();
  CHECK_THROWS_WITH(decode_result(longer), "[call] there are bytes behind the end");
  CHECK_THROWS_WITH(decode_value(encode(VariableValue{})), "[call] a variable has either a value or an error");
}
