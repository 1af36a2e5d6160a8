#include "troupe/strategies/checkpoint/manifest.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

Manifest some_manifest() {
  Manifest manifest{.step = 12,
                    .positions = {{"trainer", {12, 1, 2, 100, 16, 3, -4}}, {"other \"one\"", {}}},
                    .texts = {{"notes", "a line\nand \u00e4nother"}},
                    .data = {{"rows", {1, 2, {-5, INT64_MAX, 0}}}, {"others", {}}},
                    .file_bytes = {{"values-0.safetensors", 1'000}}};
  manifest.entries.push_back({.name = "dense/kernel",
                              .updates = 12,
                              .dtype = DType::bfloat16,
                              .shape = {3, 4},
                              .count = 3,
                              .file = "values-0.safetensors",
                              .hash = "0123456789abcdef"});
  return manifest;
}

std::string text_of_error(const std::string& text) {
  try {
    parse_manifest(text, "manifest.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a manifest is read as it was written") {
  CHECK(parse_manifest(text_of(some_manifest()), "file") == some_manifest());
  CHECK(parse_manifest(text_of(Manifest{}), "file") == Manifest{});
}

TEST_CASE("a manifest with a wrong bit, or cut off anywhere, is refused") {
  const auto text = text_of(some_manifest());
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    auto damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    INFO("bit " << bit);
    CHECK_THAT(text_of_error(damaged), Contains("[checkpoint] 'manifest.json' is truncated or damaged"));
  }
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK_THAT(text_of_error(text.substr(0, size)), Contains("is truncated"));
  CHECK_THAT(text_of_error(text + "x"), Contains("is truncated or damaged"));
}

TEST_CASE("names and texts that are not UTF-8 are refused before a manifest is written") {
  auto manifest = some_manifest();
  manifest.texts["notes"] = "\xff";
  CHECK_THROWS_WITH(text_of(manifest), Contains("not in UTF-8"));
}
