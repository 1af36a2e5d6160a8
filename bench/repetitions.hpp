#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace troupe::bench {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0.0 : values[values.size() / 2];
}

/// The variants to compare, by name. Each function measures once and returns a figure.
using Contenders = std::vector<std::pair<std::string, std::function<double()>>>;

/// Returns the figures of every contender, one per repetition. A repetition measures each contender once, one after the
/// other, so that a change of the machine's speed affects all of them.
inline std::map<std::string, std::vector<double>> alternate(const Contenders& contenders, int repetitions) {
  std::map<std::string, std::vector<double>> figures;
  for (const auto& [name, measure] : contenders) measure();
  for (int i = 0; i < repetitions; ++i)
    for (const auto& [name, measure] : contenders) figures[name].push_back(measure());
  return figures;
}

/// The median over all repetitions of a divided by b.
inline double median_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) ratios.push_back(a[i] / b[i]);
  return median(ratios);
}

}  // namespace troupe::bench
