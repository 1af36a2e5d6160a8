// fuzz_corpus FOLDER: feeds the files in FOLDER/<target>/ to every target, which must accept seed-*.
// fuzz_corpus --make-seeds FOLDER: writes the seeds again after a change of a format.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/fuzz/seeds.hpp"
#include "troupe/tests/fuzz/targets.hpp"

using namespace troupe;

namespace fs = std::filesystem;

namespace {

using Target = void (*)(fuzz::Input&);

const std::map<std::string, Target> kTargets{
    {"agreement", fuzz::agreement},   {"answer", fuzz::answer},
    {"assembly", fuzz::assembly},     {"call", fuzz::call},
    {"collective", fuzz::collective}, {"failure", fuzz::failure},
    {"frame", fuzz::frame},           {"hello", fuzz::hello},
    {"job_status", fuzz::job_status}, {"membership", fuzz::membership},
    {"packet", fuzz::packet},         {"recording", fuzz::recording},
    {"run_frame", fuzz::run_frame},
};

std::vector<std::byte> read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::byte> bytes;
  for (std::istreambuf_iterator<char> at(file), end; at != end; ++at) bytes.push_back(static_cast<std::byte>(*at));
  return bytes;
}

void make_seeds(const fs::path& folder) {
  for (const auto& [target, seeds] : fuzz::all_seeds()) {
    fs::create_directories(folder / target);
    for (const auto& [name, bytes] : seeds)
      std::ofstream(folder / target / ("seed-" + name), std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
}

/// False if a seed is refused. Whatever else is wrong ends the program.
bool take(Target target, const fs::path& path) {
  const auto bytes = read(path);
  fuzz::Input input(bytes);
  // The last line before a crash names the input.
  std::printf("%s\n", path.c_str());
  std::fflush(stdout);
  try {
    target(input);
  } catch (const Error& error) {
    if (!path.filename().string().starts_with("seed-")) return true;
    std::printf("  is refused: %s\n  after a change of the format, make the seeds again: see docs/test_methods.md\n",
                error.what());
    return false;
  }
  return true;
}

bool take_all(const fs::path& folder) {
  bool good = true;
  for (const auto& [name, target] : kTargets) {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(folder / name)) paths.push_back(entry.path());
    std::ranges::sort(paths);
    for (const auto& path : paths) good = take(target, path) && good;
    good = good && !paths.empty();
  }
  return good;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 2 && words[0] == "--make-seeds") {
    make_seeds(words[1]);
    return 0;
  }
  if (words.size() == 1) return take_all(words[0]) ? 0 : 1;
  std::fprintf(stderr, "usage: fuzz_corpus [--make-seeds] FOLDER\n");
  return 2;
}
