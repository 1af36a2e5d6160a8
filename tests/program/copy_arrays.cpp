// copy_arrays FROM... TO: reads arrays from files that end in .safetensors or .npy, and writes all of them to a
// .safetensors file. The array of an .npy file has the name of the file.

#include <cstdio>
#include <exception>
#include <filesystem>

#include "troupe/ops/data/npy_file.hpp"
#include "troupe/ops/data/safetensors.hpp"

using namespace troupe;

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
