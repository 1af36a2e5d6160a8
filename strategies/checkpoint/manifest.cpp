#include "troupe/strategies/checkpoint/manifest.hpp"

#include <nlohmann/json.hpp>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/strategies/checkpoint/checkpoint_folder.hpp"

namespace troupe {

namespace {

using nlohmann::json;

/// The version of the form; another form gets another number.
constexpr int kVersion = 1;
constexpr const char* kFormat = "troupe checkpoint";

std::string hash_text(const std::string& text) {
  Hash hash;
  hash.add_bytes(text.data(), text.size());
  return hash.hex();
}

json json_of(const TrainingPosition& at) {
  return {{"step", at.step}, {"epoch", at.epoch},           {"batch", at.batch},
          {"rows", at.rows}, {"batch_rows", at.batch_rows}, {"layout", at.layout},
          {"data", at.data}};
}

TrainingPosition position_of(const json& at) {
  return {at.at("step"),       at.at("epoch"),  at.at("batch"), at.at("rows"),
          at.at("batch_rows"), at.at("layout"), at.at("data")};
}

json json_of(const DataPosition& at) {
  return {{"epoch", at.epoch}, {"batch", at.batch}, {"position", at.position}};
}

DataPosition data_position_of(const json& at) {
  return {at.at("epoch"), at.at("batch"), at.at("position").get<Position>()};
}

json json_of(const Manifest::Entry& entry) {
  return {{"name", entry.name},          {"updates", entry.updates}, {"dtype", name_of(entry.dtype)},
          {"shape", entry.shape.list()}, {"axis", entry.axis},       {"range", {entry.first, entry.count}},
          {"file", entry.file},          {"xxh3", entry.hash}};
}

DType dtype_of(const json& name) {
  if (const auto dtype = dtype_named(name.get<std::string>())) return *dtype;
  throw Error(kCheckpointPlace, "the dtype " + name.dump() + " is unknown");
}

Manifest::Entry entry_of(const json& entry) {
  return {.name = entry.at("name"),
          .updates = entry.at("updates"),
          .dtype = dtype_of(entry.at("dtype")),
          .shape = Shape(entry.at("shape").get<std::vector<std::int64_t>>()),
          .axis = entry.at("axis"),
          .first = entry.at("range").at(0),
          .count = entry.at("range").at(1),
          .file = entry.at("file"),
          .hash = entry.at("xxh3")};
}

Manifest manifest_of(const json& content) {
  Manifest manifest;
  manifest.step = content.at("step");
  for (const auto& [trainer, position] : content.at("positions").items())
    manifest.positions[trainer] = position_of(position);
  manifest.texts = content.at("texts").get<std::map<std::string, std::string>>();
  if (content.contains("data"))
    for (const auto& [source, position] : content.at("data").items())
      manifest.data[source] = data_position_of(position);
  manifest.file_bytes = content.at("files").get<std::map<std::string, std::int64_t>>();
  for (const auto& entry : content.at("entries")) manifest.entries.push_back(entry_of(entry));
  return manifest;
}

}  // namespace

std::string text_of(const Manifest& manifest) {
  json content{{"format", kFormat},           {"version", kVersion},     {"step", manifest.step},
               {"positions", json::object()}, {"texts", manifest.texts}, {"files", manifest.file_bytes},
               {"entries", json::array()}};
  for (const auto& [trainer, position] : manifest.positions) content["positions"][trainer] = json_of(position);
  // Manifests of trainings on data sets have no such part.
  for (const auto& [source, position] : manifest.data) content["data"][source] = json_of(position);
  for (const auto& entry : manifest.entries) content["entries"].push_back(json_of(entry));
  try {
    const auto text = content.dump(1);
    return text + "\n" + hash_text(text) + "\n";
  } catch (const json::exception&) {
    throw Error(kCheckpointPlace, "a name or a text is not in UTF-8");
  }
}

Manifest parse_manifest(const std::string& text, const std::string& file) {
  const auto refuse = [&](const std::string& what) { throw Error(kCheckpointPlace, "'" + file + "' " + what); };
  constexpr std::size_t kHashBytes = 18;  // a line break, 16 digits, a line break
  if (text.size() < kHashBytes) refuse("is truncated");
  const auto content = text.substr(0, text.size() - kHashBytes);
  if (text != content + "\n" + hash_text(content) + "\n") refuse("is truncated or damaged: its hash is wrong");
  try {
    const auto parsed = json::parse(content);
    if (parsed.at("format") != kFormat) refuse("is no manifest of a checkpoint");
    if (parsed.at("version") != kVersion)
      refuse("has version " + parsed.at("version").dump() + "; this program reads version " + std::to_string(kVersion));
    auto manifest = manifest_of(parsed);
    if (text_of(manifest) != text) refuse("has parts that are unknown");
    return manifest;
  } catch (const json::exception& error) {
    refuse(std::string("cannot be used: ") + error.what());
  }
  return {};
}

}  // namespace troupe
