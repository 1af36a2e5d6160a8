// Fits publish versions of their parameters for readers. The thread of a test drives the fits.

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "troupe/actors/store/parameter_reader.hpp"
#include "troupe/tests/actors/store/test_fit.hpp"
#include "troupe/tests/test_device/test_device.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a fit publishes what a reader has asked of it, though another fit publishes before") {
  const auto store = store_of({{"a", 0}, {"b", 0}});
  TestFit first(store, {{"a", 0}}), second(store, {{"b", 0}});
  first.begin_run();
  second.begin_run();
  ParameterReader reader(store, {{"b", 0}}, kNoRefresh);
  auto value = elsewhere([&] { return read(reader); });
  second.await_request();
  CHECK(first.requests() == 0);
  first.next_run(1.0F);
  second.next_run(2.0F);
  CHECK(value.get() == 2.0F);
  first.end_run(1.0F);
  second.end_run(2.0F);
}

TEST_CASE("a version is as old as the boundary of the fit that trains it") {
  const auto store = store_of({{"a", 0}, {"b", 0}});
  TestFit first(store, {{"a", 0}}), second(store, {{"b", 0}});
  ParameterReader of_first(store, {{"a", 0}}, std::chrono::milliseconds(0));
  ParameterReader of_second(store, {{"b", 0}}, kNoRefresh), of_both(store, {{"a", 0}, {"b", 0}}, kNoRefresh);
  first.begin_run();
  second.begin_run();
  auto values = elsewhere([&] { return std::pair(read(of_both, 0), read(of_both, 1)); });
  first.await_request();
  second.await_request();
  first.next_run(1.0F);
  second.next_run(2.0F);
  CHECK(values.get() == std::pair(1.0F, 2.0F));
  const auto since = std::chrono::steady_clock::now();
  ask(first, of_first);
  first.next_run(3.0F);
  CHECK(read(of_first) == 3.0F);
  const auto age = std::chrono::steady_clock::now() - since;
  CHECK(read(of_second) == 2.0F);
  CHECK(of_second.age() >= age);
  CHECK(read(of_both) == 3.0F);
  CHECK(of_both.age() >= age);
  first.end_run(1.0F);
  second.end_run(2.0F);
}

TEST_CASE("after a reader has read between two runs it gets no older version in the next run") {
  const auto store = store_of({{"a", 0}, {"b", 0}});
  TestFit fit(store, {{"a", 0}, {"b", 0}});
  ParameterReader reader(store, {{"a", 0}}, kNoRefresh), other(store, {{"b", 0}}, kNoRefresh);
  fit.begin_run();
  const auto values =
      result_of(elsewhere([&] { return std::pair(read_version(reader), read_version(other)); }), fit, 1.0F);
  CHECK(values == std::pair(1.0F, 1.0F));
  fit.end_run(2.0F);
  CHECK(read(reader) == 2.0F);
  CHECK(reader.age().count() == 0);
  fit.begin_run();
  CHECK(read(reader) == 2.0F);
  CHECK(reader.age().count() > 0);
  // The values of a fit are of one boundary.
  CHECK(read(other) == 2.0F);
  fit.end_run(3.0F);
}

TEST_CASE("a fit has no version of the fit before, also while another fit goes on") {
  const auto store = store_of({{"a", 0}, {"b", 0}});
  TestFit other(store, {{"a", 0}});
  ParameterReader reader(store, {{"b", 0}}, kNoRefresh);
  for (const auto value : {1.0F, 2.0F}) {
    TestFit fit(store, {{"b", 0}});
    fit.begin_run();
    CHECK(result_of(elsewhere([&] { return read_version(reader); }), fit, value) == value);
    fit.end_run(value);
  }
}

TEST_CASE("a fit that cannot copy its parameters says so to the readers that wait, and once to the others") {
  const auto store = store_of({{"a", 0}, {"b", 0}}, test_device());
  TestFit fit(store, {{"a", 0}, {"b", 0}});
  ParameterReader reader(store, {{"a", 0}}, std::chrono::milliseconds(0)), late(store, {{"b", 0}}, kNoRefresh);
  fit.begin_run();
  CHECK(result_of(elsewhere([&] { return read_version(reader); }), fit, 1.0F) == 1.0F);
  const auto fail = [&] {
    ask(fit, reader);
    const FullTestDevices full;
    fit.next_run(2.0F);
  };
  fail();
  CHECK_THROWS_WITH(reader.access(),
                    Contains("[store] a fit could not copy its parameters for readers: [test device]"));
  CHECK(read(reader) == 1.0F);
  fail();
  CHECK(read(reader) == 1.0F);
  {
    const FullTestDevices full;
    CHECK_THAT(result_of(elsewhere([&] { return error_of([&] { read_version(late); }); }), fit, 2.0F),
               Contains("a fit could not copy its parameters for readers: [test device] out of memory"));
  }
  CHECK(result_of(elsewhere([&] { return read_version(late); }), fit, 3.0F) == 3.0F);
  CHECK(read(reader) == 3.0F);
  fit.end_run(3.0F);
}

TEST_CASE("a store keeps two versions of what living readers read") {
  const std::vector<ParameterRef> both{{"a", 0}, {"b", 0}};
  const auto store = store_of(both, test_device());
  const auto none = test_device_bytes_in_use();
  TestFit fit(store, both);
  std::optional<ParameterReader> of_b(std::in_place, store, std::vector<ParameterRef>{{"b", 0}}, kNoRefresh);
  ParameterReader idle(store, {{"a", 0}}, kNoRefresh), reader(store, {{"a", 0}}, std::chrono::milliseconds(0));
  fit.begin_run();
  CHECK(result_of(elsewhere([&] { return read_version(reader); }), fit, 1.0F) == 1.0F);
  CHECK(read(idle) == 1.0F);
  const auto publish = [&](float value) {
    ask(fit, reader);
    fit.next_run(value);
  };
  for (int i = 2; i < 6; ++i) publish(static_cast<float>(i));
  CHECK(read(reader) == 5.0F);
  CHECK(test_device_bytes_in_use() == none + 2 * kBytes);

  CHECK(result_of(elsewhere([&] { return read_version(*of_b); }), fit, 6.0F) == 6.0F);
  publish(6.0F);
  CHECK(test_device_bytes_in_use() == none + 4 * kBytes);
  of_b.reset();
  publish(7.0F);
  CHECK(test_device_bytes_in_use() == none + 2 * kBytes);

  {
    // The memory for the next version is read: the request waits for a later boundary.
    const auto access = idle.access();
    publish(8.0F);
    publish(9.0F);
    CHECK(read(reader) == 8.0F);
    CHECK(idle.tensors()[0].copy_to_host().data<float>()[0] == 7.0F);
  }
  fit.next_run(10.0F);
  CHECK(read(reader) == 10.0F);
  CHECK(test_device_bytes_in_use() == none + 2 * kBytes);
  fit.end_run(0.0F);
}
