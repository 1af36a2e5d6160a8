#include "troupe/ops/graph/attributes.hpp"

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

const Attributes kAttributes{{"stride", std::int64_t{2}},
                             {"factor", 0.5},
                             {"relu", true},
                             {"axes", std::vector<std::int64_t>{1, 0}},
                             {"kind", std::string("sum")}};

}  // namespace

TEST_CASE("attributes are found by name and type", "[attributes]") {
  CHECK(kAttributes.integer("stride") == 2);
  CHECK(kAttributes.number("factor") == 0.5);
  CHECK(kAttributes.flag("relu"));
  CHECK(kAttributes.list("axes") == std::vector<std::int64_t>{1, 0});
  CHECK(kAttributes.text("kind") == "sum");
  CHECK(kAttributes.has("axes"));
  CHECK_FALSE(kAttributes.has("axis"));
}

TEST_CASE("an attribute that is missing or of another type is an error that names it", "[attributes]") {
  CHECK(
      contains(error_of([] { (void)kAttributes.integer("padding"); }), "[attributes] there is no attribute 'padding'"));
  CHECK(contains(error_of([] { (void)kAttributes.flag("stride"); }), "'stride' is an integer, not a bool"));
}

TEST_CASE("a changed copy leaves the old attributes alone", "[attributes]") {
  const auto changed = kAttributes.with("stride", std::int64_t{3}).with("padding", std::int64_t{1});
  CHECK(changed.integer("stride") == 3);
  CHECK(changed.integer("padding") == 1);
  CHECK(kAttributes.integer("stride") == 2);
  CHECK_FALSE(changed == kAttributes);
  CHECK(kAttributes.with("stride", std::int64_t{2}) == kAttributes);
}

TEST_CASE("attributes print in the order they were set", "[attributes]") {
  CHECK(to_string(kAttributes) == "stride=2 factor=0.5 relu=true axes=[1, 0] kind=sum");
  CHECK(to_string(Attributes{}).empty());
}

}  // namespace troupe::ops_test
