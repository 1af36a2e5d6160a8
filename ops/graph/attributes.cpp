#include "troupe/ops/graph/attributes.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/text_stream.hpp"

namespace troupe {

Attributes::Attributes() noexcept = default;
Attributes::Attributes(std::initializer_list<std::pair<std::string, Attribute>> entries) : entries_(entries) {}
Attributes::Attributes(const Attributes& other) = default;
Attributes::Attributes(Attributes&& other) noexcept = default;
Attributes& Attributes::operator=(const Attributes& other) = default;
Attributes& Attributes::operator=(Attributes&& other) noexcept = default;
Attributes::~Attributes() = default;
bool Attributes::operator==(const Attributes& other) const = default;

const Attribute* Attributes::find(const std::string& name) const {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.first == name; });
  return entry == entries_.end() ? nullptr : &entry->second;
}

template <class T>
const T& Attributes::get(const std::string& name) const {
  // The types of Attribute, by index.
  constexpr const char* kTypes[] = {"a bool", "an integer", "a floating-point number", "a list of integers", "a text"};
  const auto* attribute = find(name);
  if (attribute == nullptr) throw Error("attributes", "there is no attribute '" + name + "'");
  const auto* value = std::get_if<T>(attribute);
  if (value == nullptr)
    throw Error("attributes", "attribute '" + name + "' is " + kTypes[attribute->index()] + ", not " +
                                  kTypes[Attribute(T()).index()]);
  return *value;
}

template const bool& Attributes::get(const std::string& name) const;
template const std::int64_t& Attributes::get(const std::string& name) const;
template const double& Attributes::get(const std::string& name) const;
template const std::vector<std::int64_t>& Attributes::get(const std::string& name) const;
template const std::string& Attributes::get(const std::string& name) const;

Attributes Attributes::with(const std::string& name, Attribute value) const {
  Attributes changed = *this;
  for (auto& [key, old_value] : changed.entries_) {
    if (key != name) continue;
    old_value = std::move(value);
    return changed;
  }
  changed.entries_.emplace_back(name, std::move(value));
  return changed;
}

namespace {

/// Visitor of an Attribute: prints a value of any type to `out`.
struct Printer {
  std::ostream& out;
  void operator()(bool value) const { out << (value ? "true" : "false"); }
  void operator()(std::int64_t value) const { out << value; }
  void operator()(double value) const { out << value; }
  void operator()(const std::string& value) const { out << value; }
  void operator()(const std::vector<std::int64_t>& values) const {
    out << "[";
    for (std::size_t i = 0; i < values.size(); ++i) out << (i > 0 ? ", " : "") << values[i];
    out << "]";
  }
};

}  // namespace

std::string to_string(const Attributes& attributes) {
  TextStream out;
  for (const auto& [name, value] : attributes.entries()) {
    out << (out.tellp() > 0 ? " " : "") << name << "=";
    std::visit(Printer{out}, value);
  }
  return out.str();
}

}  // namespace troupe
