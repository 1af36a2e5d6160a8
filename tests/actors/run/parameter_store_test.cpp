#include "troupe/actors/run/parameter_store.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/elementwise.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

Graph with_parameter(const std::string& name, const Shape& shape) {
  GraphBuilder builder;
  const auto parameter = builder.parameter(name, shape, Initializer::glorot_uniform());
  builder.state(name + "/velocity", shape, Initializer::zeros());
  builder.output("y", scale(parameter, 2.0));
  return std::move(builder).build();
}

std::vector<float> values(const ParameterStore& store, const std::string& name, int replica) {
  const auto elements = store.get(name, replica).data<float>();
  return {elements.begin(), elements.end()};
}

}  // namespace

TEST_CASE("replicas start alike, seeds and parameters differ") {
  ParameterStore store(1), other(2);
  const auto a = with_parameter("a", {3, 4}), b = with_parameter("b", {3, 4});
  for (int replica : {0, 1}) {
    store.add(a, replica, {});
    store.add(b, replica, {DeviceType::cpu, replica});
  }
  other.add(a, 0, {});
  CHECK(values(store, "a", 0) == values(store, "a", 1));
  CHECK(store.get("a", 0).raw() != store.get("a", 1).raw());
  CHECK(values(store, "a", 0) != values(store, "b", 0));
  CHECK(values(store, "a", 0) != values(other, "a", 0));
  CHECK(store.hash(0) == store.hash(1));
  CHECK(store.hash(0) != other.hash(0));
}

TEST_CASE("the store keeps what is there, and counts and hashes trained parameters only") {
  ParameterStore store(1);
  const auto graph = with_parameter("a", {2, 2});
  store.add(graph, 0, {});
  const auto start = store.hash();
  CHECK(store.trained() == std::vector<std::string>{"a"});
  CHECK(store.trained_elements() == 4);
  store.get("a/velocity", 0).mutable_data<float>()[0] = 7.0F;
  CHECK(store.hash() == start);
  store.get("a", 0).mutable_data<float>()[3] += 1.0F;
  CHECK(store.hash() != start);
  const auto changed = store.hash();
  store.add(graph, 0, {});
  CHECK(store.hash() == changed);
}

TEST_CASE("a replica that comes later starts where the others are") {
  ParameterStore store(1);
  const auto graph = with_parameter("a", {2, 2});
  store.add(graph, 0, {});
  store.get("a", 0).mutable_data<float>()[0] = 7.0F;
  store.get("a/velocity", 0).mutable_data<float>()[1] = 3.0F;
  store.add(graph, 1, {});
  CHECK(store.hash(1) == store.hash(0));
  CHECK(values(store, "a/velocity", 1) == values(store, "a/velocity", 0));
  CHECK(store.get("a", 0).raw() != store.get("a", 1).raw());
}

TEST_CASE("unknown names and other shapes are refused") {
  ParameterStore store(1);
  store.add(with_parameter("a", {2, 2}), 0, {});
  CHECK_THROWS_AS(store.get("b", 0), Error);
  CHECK_THROWS_AS(store.get("a", 1), Error);
  CHECK_THROWS_AS(store.add(with_parameter("a", {2, 3}), 0, {}), Error);
}

TEST_CASE("the hash is the xxh3 of the bytes in order") {
  GraphBuilder builder;
  builder.output("y", scale(builder.parameter("a", {2}, Initializer::constant(1.0)), 1.0));
  ParameterStore store(0);
  store.add(std::move(builder).build(), 0, {});
  // xxhsum -H3 of the bytes 00 00 80 3f 00 00 80 3f
  CHECK(store.hash() == "774376da7ad20e6b");
}
