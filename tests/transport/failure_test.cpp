#include "troupe/transport/failure.hpp"

#include <stdexcept>

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

Failure nan_in_loss() {
  return {.replica = 2, .actor = "loss@2", .op = "loss.check_finite", .step = 7, .what = "[check_finite] nan"};
}

void check_same(const Failure& a, const Failure& b) {
  CHECK(a.rank == b.rank);
  CHECK(a.replica == b.replica);
  CHECK(a.actor == b.actor);
  CHECK(a.op == b.op);
  CHECK(a.step == b.step);
  CHECK(a.kind == b.kind);
  CHECK(a.what == b.what);
  REQUIRE((a.cause == nullptr) == (b.cause == nullptr));
  if (a.cause) check_same(*a.cause, *b.cause);
}

}  // namespace

TEST_CASE("a failure says what, where and when; the rank only if there are several") {
  auto failure = nan_in_loss();
  CHECK(to_string(failure) == "[check_finite] nan (op loss.check_finite, step 7, replica 2)");
  failure.rank = 1;
  CHECK(to_string(failure) == "[check_finite] nan (op loss.check_finite, step 7, replica 2, rank 1)");
  failure.op.clear();
  CHECK(to_string(failure) == "[check_finite] nan (op loss@2, step 7, replica 2, rank 1)");
  CHECK(to_string(Failure{.what = "no more"}) == "no more");
}

TEST_CASE("any exception has a text") {
  CHECK(text_of(std::make_exception_ptr(std::runtime_error("full"))) == "full");
  CHECK(text_of(std::make_exception_ptr(1)) == "an exception that is not a std::exception");
}

TEST_CASE("a failure with its causes survives as bytes, and nothing else does") {
  auto failure = nan_in_loss();
  failure.rank = 3;
  failure.kind = FailureKind::part_died;
  failure.cause = std::make_shared<Failure>(nan_in_loss());
  const auto bytes = encode(failure);
  check_same(*decode_failure(bytes), failure);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_THROWS_AS(decode_failure(std::span(bytes).first(length)), Error);
  auto longer = bytes;
  longer.push_back(std::byte{0});
  CHECK_THROWS_AS(decode_failure(longer), Error);
  // The last byte says whether a cause follows.
  auto unknown = bytes;
  unknown.back() = std::byte{2};
  CHECK_THROWS_WITH(decode_failure(unknown), "[failure] flag 2 is neither 0 nor 1");
}

TEST_CASE("endless texts and chains of causes are cut") {
  FailurePtr chain;
  for (int i = 0; i < 100; ++i)
    chain = std::make_shared<Failure>(
        Failure{.op = std::string(10'000, 'o'), .what = std::string(100'000, 'x'), .cause = chain});
  const auto bytes = encode(*chain);
  CHECK(bytes.size() < 65'536);
  int length = 0;
  for (auto failure = decode_failure(bytes); failure; failure = failure->cause) ++length;
  CHECK(length == 8);
}
