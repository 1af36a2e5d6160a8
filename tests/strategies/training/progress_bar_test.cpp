#include "troupe/strategies/training/progress_bar.hpp"

#include <algorithm>
#include <sstream>

#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("a terminal gets one line that is redrawn, not one a step") {
  std::ostringstream out;
  ProgressBar bar(out, true, 2, 10'000);
  for (int step = 0; step < 10'000; ++step)
    bar.step({.step = step, .loss = 0.5, .rows = 2, .values = {{{"accuracy", 1, 2}}}});
  bar.finish_epoch({.steps = 10'000, .rows = 20'000, .loss = 0.5, .values = {{{"accuracy", 1, 2}}}}, 2.0);
  const auto text = out.str();
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(std::count(text.begin(), text.end(), '\r') < 100);
  CHECK_THAT(text, Contains("epoch 1/2  loss 0.5000  accuracy 0.5000  10000 samples/s"));
}

TEST_CASE("a file gets plain lines: one an epoch, unless an epoch takes long") {
  std::ostringstream out;
  ProgressBar bar(out, false, 3, 100);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int step = 0; step < 100; ++step)
      bar.step({.step = step, .loss = 0.5, .rows = 2, .values = {{{"accuracy", 1, 2}}}});
    bar.finish_epoch({.steps = 100, .rows = 200, .loss = 0.25, .values = {{{"accuracy", 1, 2}}}}, 1.0);
  }
  const auto text = out.str();
  CHECK(text.find('\r') == std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK_THAT(text, Contains("epoch 3/3"));
}
