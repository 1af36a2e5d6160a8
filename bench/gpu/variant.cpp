#include "troupe/bench/gpu/variant.hpp"

#include <cstdlib>

#include "troupe/ops/core/error.hpp"

namespace troupe::bench {

Variant::Variant(std::string text) : text_(std::move(text)) {
  if (const auto equals = text_.find('='); !text_.empty() && (equals == std::string::npos || equals == 0))
    throw Error("variant", "'" + text_ + "' is not NAME=VALUE");
}

Variant::Scope::Scope(const Variant& variant) {
  if (variant.text_.empty()) return;
  const auto equals = variant.text_.find('=');
  name_ = variant.text_.substr(0, equals);
  if (const auto* value = std::getenv(name_.c_str()); value != nullptr) before_ = value;
  setenv(name_.c_str(), variant.text_.c_str() + equals + 1, 1);
}

Variant::Scope::~Scope() {
  if (name_.empty()) return;
  if (before_)
    setenv(name_.c_str(), before_->c_str(), 1);
  else
    unsetenv(name_.c_str());
}

}  // namespace troupe::bench
