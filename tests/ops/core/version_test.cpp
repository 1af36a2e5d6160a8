#include "troupe/version.hpp"

#include <string>

#include "troupe/tests/catch.hpp"

TEST_CASE("the text of the version has its three numbers") {
  const auto numbers = std::to_string(TROUPE_VERSION_MAJOR) + "." + std::to_string(TROUPE_VERSION_MINOR) + "." +
                       std::to_string(TROUPE_VERSION_PATCH);
  CHECK(std::string(TROUPE_VERSION) == numbers);
}
