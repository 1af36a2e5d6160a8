// The header of the version agrees with the version of the package that was found.
#include "troupe/version.hpp"

#include <cstdio>
#include <string>

int main() {
  const auto numbers = std::to_string(TROUPE_VERSION_MAJOR) + "." + std::to_string(TROUPE_VERSION_MINOR) + "." +
                       std::to_string(TROUPE_VERSION_PATCH);
  std::printf("Troupe %s\n", TROUPE_VERSION);
  return numbers == TROUPE_VERSION && numbers == FOUND_VERSION ? 0 : 1;
}
