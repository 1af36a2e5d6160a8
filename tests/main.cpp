#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Listener = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
using Listener = Catch::TestEventListenerBase;
#endif

#include <cstdio>
#include <cstdlib>

#include "troupe/tests/skip.hpp"

namespace {

bool skipped_now = false;
int cases = 0, skipped_cases = 0;

/// Counts the cases that were skipped: Catch2 2 has no word for them.
class SkipCounter final : public Listener {
 public:
  using Listener::Listener;

  void testCaseStarting(const Catch::TestCaseInfo&) override { skipped_now = false; }
  void testCaseEnded(const Catch::TestCaseStats&) override {
    ++cases;
    skipped_cases += skipped_now ? 1 : 0;
  }
};

}  // namespace

CATCH_REGISTER_LISTENER(SkipCounter)

namespace troupe::testing {

void skip(const std::string& reason) {
  skipped_now = true;
  WARN("skipped: " + reason);
}

}  // namespace troupe::testing

int main(int count, char** arguments) {
  constexpr int kAllSkipped = 4;
  // Tests leave no copies of their files in the user's folder.
  setenv("TROUPE_DATA_CACHE", "off", 0);
  const int failed = Catch::Session().run(count, arguments);
  if (skipped_cases > 0) std::printf("%d of %d test cases were skipped\n", skipped_cases, cases);
  return failed == 0 && skipped_cases > 0 && skipped_cases == cases ? kAllSkipped : failed;
}
