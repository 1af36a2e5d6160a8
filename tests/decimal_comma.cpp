#include "troupe/tests/decimal_comma.hpp"

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <locale>
#include <stdexcept>
#include <system_error>

namespace troupe::testing {

namespace {

constexpr const char* kGerman = "de_DE.UTF-8";

}  // namespace

DecimalComma::DecimalComma() {
  if (std::setlocale(LC_ALL, kGerman) == nullptr) {
    auto name = (std::filesystem::temp_directory_path() / "troupe-locale-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    folder_ = name;
    const auto command = "localedef --no-archive -f UTF-8 -i de_DE " + folder_ + "/" + kGerman + " >/dev/null 2>&1";
    // localedef returns 1 after a mere warning.
    (void)std::system(command.c_str());
    setenv("LOCPATH", folder_.c_str(), 1);
    if (std::setlocale(LC_ALL, kGerman) == nullptr) return;
  }
  std::locale::global(std::locale(kGerman));
  is_set_ = true;
}

DecimalComma::~DecimalComma() {
  std::locale::global(std::locale::classic());
  std::setlocale(LC_ALL, "C");
  if (folder_.empty()) return;
  unsetenv("LOCPATH");
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace troupe::testing
