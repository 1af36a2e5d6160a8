// copy_arrays FROM... TO: reads arrays from files that end in .safetensors, .npy or .tfrecord, and writes all of them
// to a .safetensors file. The array of an .npy file has the name of the file. The examples of a .tfrecord file must
// have the features f, 6 floats, i, 3 integers, and b, 4 bytes.

#include <cstdio>
#include <exception>
#include <filesystem>

#include "troupe/ops/data/npy_file.hpp"
#include "troupe/ops/data/safetensors.hpp"
#include "troupe/ops/pipeline/tf_examples.hpp"

using namespace troupe;

namespace {

/// Adds an array [N, ...] for each feature of N examples.
void add_examples(const std::string& path, NamedArrays& arrays) {
  const RowFields fields{{"f", DType::float32, {2, 3}}, {"i", DType::int64, {3}}, {"b", DType::uint8, {4}}};
  const auto examples = tf_examples({path}, fields);
  auto reader = examples.batch(examples.size()).read();
  Row all;
  if (!reader.next(all)) return;
  for (std::size_t i = 0; i < fields.size(); ++i) arrays.emplace_back(fields[i].name, all.values[i]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "copy_arrays: needs files to read, and one to write\n");
    return 2;
  }
  try {
    NamedArrays arrays;
    for (int i = 1; i + 1 < argc; ++i) {
      const std::filesystem::path path = argv[i];
      if (path.extension() == ".npy") {
        arrays.emplace_back(path.stem().string(), read_npy(path));
      } else if (path.extension() == ".tfrecord") {
        add_examples(path.string(), arrays);
      } else {
        for (auto& array : read_safetensors(path)) arrays.push_back(std::move(array));
      }
    }
    write_safetensors(argv[argc - 1], arrays);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
