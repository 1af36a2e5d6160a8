#pragma once

#include <string>

namespace troupe::testing {

/// Sets a locale with a decimal comma and digits in groups for the whole program while the object lives: one of the
/// system, or one that localedef makes of the sources in /usr/share/i18n.
class DecimalComma {
 public:
  DecimalComma();
  ~DecimalComma();
  DecimalComma(const DecimalComma&) = delete;
  DecimalComma& operator=(const DecimalComma&) = delete;

  /// False if the system has no such locale, nor its sources.
  bool is_set() const { return is_set_; }

 private:
  std::string folder_;
  bool is_set_ = false;
};

}  // namespace troupe::testing
