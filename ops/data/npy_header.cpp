#include "troupe/ops/data/npy_header.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace troupe {

namespace {

/// The part of a header that is not parsed yet. The functions skip spaces and line ends, and throw Error if the text
/// does not begin with what they read.
class HeaderText {
 public:
  HeaderText(const GzipFile& file, std::string_view text) : file_(file), text_(text) {}

  /// True if the text begins with `token`, which is then read.
  bool take(std::string_view token) {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size()));
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) refuse();
  }
  bool at_end() { return take("") && text_.empty(); }

  std::string quoted() {
    const char quote = take("\"") ? '"' : '\'';
    if (quote == '\'') expect("'");
    const auto end = text_.find(quote);
    if (end == std::string_view::npos) refuse();
    const std::string content(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return content;
  }

  bool boolean() {
    if (take("True")) return true;
    expect("False");
    return false;
  }

  std::int64_t size() {
    take("");
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (code != std::errc() || number < 0) file_.refuse("has a broken shape in its header");
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return number;
  }

  /// Reads a tuple of integers. In Python, (3) is a number and (3,) a tuple.
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> sizes;
    bool has_comma = true;
    for (expect("("); !take(")"); has_comma = take(",")) {
      if (!has_comma) file_.refuse("has a broken shape in its header");
      sizes.push_back(size());
    }
    if (sizes.size() == 1 && !has_comma) file_.refuse("has a broken shape in its header");
    return sizes;
  }

  [[noreturn]] void refuse() {
    constexpr std::size_t kShown = 40;
    file_.refuse("has a broken header at '" + std::string(text_.substr(0, kShown)) + "'");
  }

 private:
  const GzipFile& file_;
  std::string_view text_;
};

Shape checked_shape(const GzipFile& file, const std::vector<std::int64_t>& sizes) {
  if (sizes.size() > Shape::kMaxRank) file.refuse("has more than " + std::to_string(Shape::kMaxRank) + " axes");
  return Shape(sizes);
}

}  // namespace

NpyHeader parse_npy_header(const GzipFile& file, std::string_view text) {
  HeaderText rest(file, text);
  NpyHeader header;
  std::vector<std::string> missing{"descr", "fortran_order", "shape"};
  bool has_comma = true;
  for (rest.expect("{"); !rest.take("}"); has_comma = rest.take(",")) {
    if (!has_comma) rest.refuse();
    const auto key = rest.quoted();
    rest.expect(":");
    if (std::erase(missing, key) == 0) file.refuse("has an unknown or repeated '" + key + "' in its header");
    if (key == "descr" && rest.take("[")) file.refuse("has records as elements; save each field as an array");
    if (key == "descr") header.type = rest.quoted();
    if (key == "fortran_order") header.fortran_order = rest.boolean();
    if (key == "shape") header.shape = checked_shape(file, rest.tuple());
  }
  if (!missing.empty()) file.refuse("has no '" + missing.front() + "' in its header");
  if (!rest.at_end()) rest.refuse();
  return header;
}

}  // namespace troupe
