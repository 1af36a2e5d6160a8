#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// The value of one attribute.
using Attribute = std::variant<bool, std::int64_t, double, std::vector<std::int64_t>, std::string>;

/// The constants of a node of a graph, or of a task that an actor runs, by name, in the order in which they were set.
class Attributes {
 public:
  // attributes.cpp defines the copies, the moves and the destructor, so that a file that includes this header does not
  // compile code for vectors of variants.
  Attributes() noexcept;
  Attributes(std::initializer_list<std::pair<std::string, Attribute>> entries);
  Attributes(const Attributes& other);
  Attributes(Attributes&& other) noexcept;
  Attributes& operator=(const Attributes& other);
  Attributes& operator=(Attributes&& other) noexcept;
  ~Attributes();

  /// The accessors flag(), integer(), number(), list() and text() throw Error if the attribute is missing or has
  /// another type.
  bool flag(const std::string& name) const { return get<bool>(name); }
  std::int64_t integer(const std::string& name) const { return get<std::int64_t>(name); }
  double number(const std::string& name) const { return get<double>(name); }
  const std::vector<std::int64_t>& list(const std::string& name) const { return get<std::vector<std::int64_t>>(name); }
  const std::string& text(const std::string& name) const { return get<std::string>(name); }

  bool has(const std::string& name) const { return find(name) != nullptr; }
  /// Returns a copy in which the attribute `name` has the given value; adds the attribute if it is missing.
  Attributes with(const std::string& name, Attribute value) const;
  const std::vector<std::pair<std::string, Attribute>>& entries() const { return entries_; }

  bool operator==(const Attributes& other) const;

 private:
  const Attribute* find(const std::string& name) const;
  template <class T>
  const T& get(const std::string& name) const;

  std::vector<std::pair<std::string, Attribute>> entries_;
};

/// The attributes as text, such as `stride=2 padding=[1, 1]`.
std::string to_string(const Attributes& attributes);

}  // namespace troupe
