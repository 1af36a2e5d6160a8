#include "troupe/ops/graph/hash.hpp"

#include <set>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

namespace {

using List = std::vector<std::int64_t>;

OpCall call() {
  return {&kMatmul,
          {{"flag", true}, {"integer", std::int64_t{2}}, {"number", 0.5}, {"list", List{1, 2}}},
          {{{2, 3}, DType::float32}, {{3}, DType::int32}},
          {{{kBatch, 4}, DType::float32}}};
}

/// Copies of the call, each with one part changed.
std::vector<OpCall> changed_calls() {
  std::vector<OpCall> calls(12, call());
  calls[0].op = &kConv2d;
  calls[1].attributes = calls[1].attributes.with("flag", false);
  calls[2].attributes = calls[2].attributes.with("integer", std::int64_t{3});
  calls[3].attributes = calls[3].attributes.with("number", 0.5000001);
  calls[4].attributes = calls[4].attributes.with("list", List{1, 3});
  calls[5].attributes = calls[5].attributes.with("number", std::int64_t{2});
  calls[6].attributes = calls[6].attributes.with("more", true);
  calls[7].inputs[0].shape = {3, 2};
  calls[8].inputs[1].dtype = DType::float32;
  calls[9].inputs.pop_back();
  calls[10].outputs[0].shape = {4, 4};
  calls[11].outputs.push_back(calls[11].inputs[0]);
  return calls;
}

Graph graph(double factor, const std::string& name, float constant, Initializer initializer) {
  GraphBuilder builder;
  const auto w = builder.parameter(name, {2}, initializer);
  builder.output("y", scale(w, factor) + builder.constant(Tensor::scalar(constant)));
  return std::move(builder).build();
}

}  // namespace

TEST_CASE("equal calls have equal hashes", "[hash]") {
  CHECK(call() == call());
  CHECK(hash_of(call()) == hash_of(call()));
  auto zero = call(), minus_zero = call();
  zero.attributes = zero.attributes.with("number", 0.0);
  minus_zero.attributes = minus_zero.attributes.with("number", -0.0);
  CHECK(zero == minus_zero);
  CHECK(hash_of(zero) == hash_of(minus_zero));
}

TEST_CASE("every part of a call changes its hash", "[hash]") {
  std::set<std::uint64_t> hashes{hash_of(call())};
  for (const auto& changed : changed_calls()) {
    CHECK_FALSE(changed == call());
    CHECK(hashes.insert(hash_of(changed)).second);
  }
}

TEST_CASE("a graph's hash changes with attributes, names, constants and initializers", "[hash]") {
  const auto zeros = Initializer::zeros();
  CHECK(hash_of(graph(2.0, "w", 1.0F, zeros)) == hash_of(graph(2.0, "w", 1.0F, zeros)));
  const std::set<std::uint64_t> hashes{hash_of(graph(2.0, "w", 1.0F, zeros)),
                                       hash_of(graph(2.5, "w", 1.0F, zeros)),
                                       hash_of(graph(2.0, "v", 1.0F, zeros)),
                                       hash_of(graph(2.0, "w", 1.5F, zeros)),
                                       hash_of(graph(2.0, "w", 1.0F, Initializer::constant(1.0))),
                                       hash_of(graph(2.0, "w", 1.0F, Initializer::he_uniform()))};
  CHECK(hashes.size() == 6);
}

TEST_CASE("texts are hashed with their lengths", "[hash]") {
  const auto hash_of_texts = [](std::string_view a, std::string_view b) {
    Hash hash;
    hash.add(a);
    hash.add(b);
    return hash.digest();
  };
  CHECK(hash_of_texts("ab", "c") != hash_of_texts("a", "bc"));
  CHECK(hash_of_texts("ab", "c") == hash_of_texts("ab", "c"));
}

}  // namespace troupe::ops_test
