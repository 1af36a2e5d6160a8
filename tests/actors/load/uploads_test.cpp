#include "troupe/actors/load/uploads.hpp"

#include "troupe/ops/core/backend.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/test_device/test_device.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

const TensorInfo kUploadedRows{{kBatch, 2}, DType::float32};

Tensor rows_of(float first, std::int64_t rows) {
  Tensor tensor(Shape{rows, 2}, DType::float32);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.mutable_data<float>()[i] = first + static_cast<float>(i);
  return tensor;
}

}  // namespace

TEST_CASE("copies of one firing do not overwrite those of the firing before, with which the device still works") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Uploads uploads(test_device(), {kUploadedRows}, 3);
    const auto stream = backend_of(test_device()).make_stream(test_device());
    std::vector<Tensor> results;
    for (int i = 0; i < 6; ++i) results.push_back(Tensor({2, 2}, DType::float32, test_device()));
    {
      const HeldTestDevices held(seed);
      for (int firing = 0; firing < 6; ++firing) {
        uploads.start();
        const auto here = uploads.upload(0, rows_of(static_cast<float>(10 * firing), 2));
        stream->wait(uploads.uploaded(0));
        copy(*stream, here, results[static_cast<std::size_t>(firing)]);
        uploads.finish(stream->record());
      }
    }
    stream->record().wait();
    for (int firing = 0; firing < 6; ++firing)
      CHECK(results[static_cast<std::size_t>(firing)].to(Device{}).data<float>()[3] ==
            static_cast<float>(10 * firing + 3));
  }
}

TEST_CASE("places come again after two firings, and firings without a copy use none") {
  Uploads uploads(test_device(), {kUploadedRows, kUploadedRows}, 3);
  std::vector<const std::byte*> places;
  for (int firing = 0; firing < 6; ++firing) {
    uploads.start();
    if (firing % 2 == 0) places.push_back(uploads.upload(1, rows_of(1.0F, 1 + firing % 3)).address());
    CHECK((uploads.uploaded(0).state() == nullptr));
    CHECK((uploads.uploaded(1).state() != nullptr) == (firing % 2 == 0));
    uploads.finish(Event());
  }
  REQUIRE(places.size() == 3);
  CHECK(places[0] != places[1]);
  CHECK(places[0] == places[2]);
}

TEST_CASE("what is copied is kept until the copy is made, and no rows need none") {
  Uploads uploads(test_device(), {kUploadedRows}, 3);
  const auto from = rows_of(1.0F, 3);
  {
    const HeldTestDevices held(0);
    uploads.start();
    (void)uploads.upload(0, from);
    CHECK(from.use_count() > 1);
  }
  uploads.uploaded(0).wait();
  CHECK(test_device_bytes_in_use() > 0);
  CHECK(from.use_count() == 1);
  uploads.start();
  CHECK(uploads.upload(0, rows_of(0.0F, 0)).shape() == Shape{0, 2});
  CHECK((uploads.uploaded(0).state() == nullptr));
}
