#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/strategies/step/data_position.hpp"

namespace troupe {

/// The table of contents of a checkpoint: which file has which value, with hashes (xxh3, 64 bits).
struct Manifest {
  /// A value, or the rows `first` to `first + count - 1` of its axis `axis`.
  struct Entry {
    std::string name;
    std::int64_t updates = 0;
    DType dtype = DType::float32;
    Shape shape;  ///< the shape of the whole value
    std::int64_t axis = 0, first = 0, count = 0;
    std::string file;
    std::string hash;  ///< the hash of the bytes of these rows
    bool operator==(const Entry&) const = default;
  };

  std::int64_t step = 0;
  std::map<std::string, TrainingPosition> positions = {};
  std::map<std::string, std::string> texts = {};
  std::map<std::string, DataPosition> data = {};
  std::map<std::string, std::int64_t> file_bytes = {};  ///< by name of the file
  std::vector<Entry> entries = {};

  bool operator==(const Manifest&) const = default;
};

/// A manifest as text in JSON, which ends with a hash of all before. Throws Error if a name or a text is not in UTF-8.
std::string text_of(const Manifest& manifest);

/// The manifest that has this text. Throws Error that names the file, unless text_of() gives this text again.
Manifest parse_manifest(const std::string& text, const std::string& file);

}  // namespace troupe
