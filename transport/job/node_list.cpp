#include "troupe/transport/job/launcher_variables.hpp"

namespace troupe {

namespace {

constexpr std::size_t kMaxHosts = 65'536;

/// Splits a list at the commas that are outside of brackets. Throws Error, with `name` and `text`, if its brackets do
/// not match.
std::vector<std::string> split_outside_brackets(const std::string& name, const std::string& text) {
  std::vector<std::string> items(1);
  bool inside = false;
  for (const char c : text) {
    if ((c == '[') == inside && (c == '[' || c == ']')) refuse_variable(name, text, "its brackets do not match");
    if (c == '[' || c == ']') inside = c == '[';
    if (c == ',' && !inside)
      items.emplace_back();
    else
      items.back() += c;
  }
  if (inside) refuse_variable(name, text, "its brackets do not match");
  return items;
}

std::string padded(std::int64_t number, std::size_t width) {
  auto text = std::to_string(number);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

/// Returns the numbers of the ranges in one bracket, with their leading zeros: `08,20-22` is 08, 20, 21, 22. Throws
/// Error, with `name` and `text`, if a range is malformed, empty or too large.
std::vector<std::string> expand_ranges(const std::string& name, const std::string& text, const std::string& ranges) {
  std::vector<std::string> numbers;
  for (const auto& range : split_outside_brackets(name, ranges)) {
    const auto dash = range.find('-');
    const auto low = range.substr(0, dash);
    const auto high = dash == std::string::npos ? low : range.substr(dash + 1);
    const auto first = number_in("range '" + range + "' of " + name, low);
    const auto last = number_in("range '" + range + "' of " + name, high);
    if (last < first || static_cast<std::size_t>(last - first) >= kMaxHosts - numbers.size())
      refuse_variable(name, text, "range '" + range + "' is empty or too large");
    for (std::int64_t number = first; number <= last; ++number) numbers.push_back(padded(number, low.size()));
  }
  return numbers;
}

/// Adds the hosts of one item of a list to `hosts`. The item is `done`, which has no brackets any more, followed by
/// `rest`, whose brackets are still to be expanded. `name` and `text`, the variable and its value, are for error texts.
void expand(const std::string& name, const std::string& text, const std::string& done, const std::string& rest,
            std::vector<std::string>& hosts) {
  const auto open = rest.find('[');
  if (open == std::string::npos) {
    if (done.empty() && rest.empty()) refuse_variable(name, text, "a host has no name");
    if (hosts.size() == kMaxHosts) refuse_variable(name, text, "it names too many hosts");
    hosts.push_back(done + rest);
    return;
  }
  const auto close = rest.find(']', open);
  for (const auto& number : expand_ranges(name, text, rest.substr(open + 1, close - open - 1)))
    expand(name, text, done + rest.substr(0, open) + number, rest.substr(close + 1), hosts);
}

}  // namespace

std::vector<std::string> expand_node_list(const std::string& name, const std::string& text) {
  std::vector<std::string> hosts;
  for (const auto& item : split_outside_brackets(name, text)) expand(name, text, "", item, hosts);
  return hosts;
}

std::vector<int> expand_task_counts(const std::string& name, const std::string& text) {
  std::vector<int> counts;
  for (const auto& item : split_outside_brackets(name, text)) {
    const auto open = item.find("(x");
    const auto count = number_in("number of tasks in " + name, item.substr(0, open));
    int times = 1;
    if (open != std::string::npos) {
      if (item.back() != ')') refuse_variable(name, text, "'" + item + "' does not end with )");
      times = number_in("repetition in " + name, item.substr(open + 2, item.size() - open - 3));
    }
    if (times < 1 || static_cast<std::size_t>(times) > kMaxHosts - counts.size())
      refuse_variable(name, text, "'" + item + "' repeats too often or not at all");
    counts.insert(counts.end(), static_cast<std::size_t>(times), count);
  }
  return counts;
}

}  // namespace troupe
