#pragma once

#include <future>
#include <string>

#include "troupe/tests/expect.hpp"
#include "troupe/tests/limits.hpp"

namespace troupe::testing {

/// Something that happens once, for which a thread waits.
class Happening {
 public:
  void happen() { promise_.set_value(); }
  void expect_soon(const std::string& what) {
    expect(promise_.get_future().wait_for(patience()) == std::future_status::ready, what + " has not happened");
  }

 private:
  std::promise<void> promise_;
};

}  // namespace troupe::testing
