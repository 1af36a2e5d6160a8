#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

TEST_CASE("operators on values compute what they say", "[ops]") {
  GraphBuilder builder;
  const auto a = builder.input("a", {2}), b = builder.input("b", {2});
  const std::vector<Value> results{a + b, a - b, a * b, -a, a + 0.5, 0.5 + a, a - 0.5, 0.5 - a, a * 2.0, 2.0 * a};
  for (std::size_t i = 0; i < results.size(); ++i) builder.output(std::to_string(i), results[i]);
  Program program(std::move(builder).build(), 0);
  program.bind("a", Tensor::from<float>({2}, std::vector<float>{3.0F, -1.0F}));
  program.bind("b", Tensor::from<float>({2}, std::vector<float>{0.25F, 4.0F}));
  program.run();
  const std::vector<float> first{3.25F, 2.75F, 0.75F, -3.0F, 3.5F, 3.5F, 2.5F, -2.5F, 6.0F, 6.0F};
  const std::vector<float> second{3.0F, -5.0F, -4.0F, 1.0F, -0.5F, -0.5F, -1.5F, 1.5F, -2.0F, -2.0F};
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(program.output(std::to_string(i)).data<float>()[0] == first[i]);
    CHECK(program.output(std::to_string(i)).data<float>()[1] == second[i]);
  }
}

}  // namespace troupe::ops_test
