// Predicts how the time of an all-reduce grows with the number of ranks, by algorithm: a model of a cluster
// (network_model.hpp) replays the schedule of every collective, for up to 1,024 ranks. Prints a table for each size of
// the tensor, and the number of ranks from which a ring or a hierarchy is faster than direct exchange. A time that is
// less by at most 5 % is not called faster. collective_scale_check compares the model with measurements.
//
// Default cluster: machines of 8 ranks, each machine with a port of 10 Gbit/s. Of the port's 1.25 GB/s, 1.18 GB/s carry
// data: 1,448 of every 1,538 bytes, with the headers and gaps of Ethernet, IP and TCP at an MTU of 1,500. A latency of
// 30 us is usual for TCP from host to host through one switch. The costs inside a machine were measured by
// collective_scale_check on a virtual machine with two cores of an AMD EPYC, and rounded: 15 us of a processor for a
// message (of all threads that handle it), 10 us until another process has it, 10 GB/s that a core reads, copies or
// adds.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "troupe/bench/network_model.hpp"
#include "troupe/ops/core/error.hpp"

using namespace troupe;
using bench::ClusterCosts;

namespace {

// A ratio above this is not called faster, because the model is not more exact.
constexpr double kClose = 0.95;

/// The swept clusters, message sizes and algorithms.
struct Setting {
  std::vector<int> ranks{2, 4, 8, 16, 32, 64, 128, 256, 512, 1'024};
  std::vector<std::int64_t> sizes{1'024, 4 << 20, 64 << 20};
  std::vector<std::string> algorithms{"direct", "ring", "hierarchy"};
  ClusterCosts costs{.latency = 30e-6,
                     .bandwidth = 1.18e9,
                     .inside_latency = 10e-6,
                     .inside_bandwidth = 10e9,
                     .message_cost = 15e-6,
                     .sum_rate = 10e9,
                     .ranks_per_machine = 8};
  bool json = false;
};

/// Seconds by size, algorithm and number of ranks, in the order of the setting.
using Row = std::vector<double>;
/// The times for one size.
struct Table {
  std::int64_t bytes;
  std::vector<Row> by_algorithm;
};

Table predict_table(const Setting& setting, std::int64_t bytes) {
  Table table{bytes, {}};
  for (const auto& name : setting.algorithms) {
    Row row;
    for (const auto ranks : setting.ranks)
      row.push_back(
          bench::predict({all_reduce_algorithm_of(name), ranks, bytes, setting.costs.ranks_per_machine}, setting.costs)
              .seconds);
    table.by_algorithm.push_back(std::move(row));
  }
  return table;
}

std::string size_text(std::int64_t bytes) {
  constexpr std::array kUnits{"bytes", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && bytes >= 1'024 && bytes % 1'024 == 0; ++unit) bytes /= 1'024;
  return std::to_string(bytes) + " " + kUnits[unit];
}

/// Prints milliseconds. Marks the best of a row, and those that are as good.
void print_table(const Setting& setting, const Table& table) {
  std::printf("%s, milliseconds (* best)\n%6s", size_text(table.bytes).c_str(), "N");
  for (const auto& name : setting.algorithms) std::printf(" %13s", name.c_str());
  std::printf("\n");
  for (std::size_t i = 0; i < setting.ranks.size(); ++i) {
    std::printf("%6d", setting.ranks[i]);
    double best = table.by_algorithm.front()[i];
    for (const auto& row : table.by_algorithm) best = std::min(best, row[i]);
    for (const auto& row : table.by_algorithm) std::printf(" %12.3f%c", row[i] * 1e3, row[i] <= best ? '*' : ' ');
    std::printf("\n");
  }
}

/// The numbers of ranks of the table for which `row` is clearly faster than `other`, as `from N = 64 on`.
std::string where_faster(const Setting& setting, const Row& row, const Row& other) {
  std::string where;
  const auto faster = [&](std::size_t i) { return i < row.size() && row[i] < kClose * other[i]; };
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!faster(i)) continue;
    const auto first = std::to_string(setting.ranks[i]);
    while (faster(i + 1)) ++i;
    if (!where.empty()) where += " and ";
    if (i + 1 == row.size())
      where += "from N = " + first + " on";
    else
      where += "at N = " + first +
               (first == std::to_string(setting.ranks[i]) ? "" : " to " + std::to_string(setting.ranks[i]));
  }
  return where.empty() ? "at no N up to " + std::to_string(setting.ranks.back()) : where;
}

/// Prints one sentence that compares every algorithm with those before it.
void print_crossovers(const Setting& setting, const Table& table) {
  std::string sentence;
  for (std::size_t i = 1; i < setting.algorithms.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const auto &row = table.by_algorithm[i], &other = table.by_algorithm[j];
      sentence += (sentence.empty() ? "" : "; ") + setting.algorithms[i] +
                  (row == other ? " takes as long as " : " is faster than ") + setting.algorithms[j] +
                  (row == other ? "" : " " + where_faster(setting, row, other));
    }
  if (!sentence.empty()) std::printf("%s: %s.\n", size_text(table.bytes).c_str(), sentence.c_str());
  std::printf("\n");
}

void print_json(const Setting& setting) {
  nlohmann::json result;
  for (const auto bytes : setting.sizes) {
    const auto table = predict_table(setting, bytes);
    for (std::size_t i = 0; i < setting.algorithms.size(); ++i)
      for (std::size_t j = 0; j < setting.ranks.size(); ++j)
        result[setting.algorithms[i]][std::to_string(bytes)][std::to_string(setting.ranks[j])] =
            table.by_algorithm[i][j];
  }
  std::cout << result.dump() << std::endl;
}

void print_tables(const Setting& setting) {
  const auto& costs = setting.costs;
  std::printf(
      "Machines of %d ranks, %.3g GB/s and %.3g us between them, %.3g GB/s and %.3g us inside; "
      "%.3g us a message, sums at %.3g GB/s\n"
      "Faster: by more than 5 %%\n\n",
      costs.ranks_per_machine, costs.bandwidth / 1e9, costs.latency * 1e6, costs.inside_bandwidth / 1e9,
      costs.inside_latency * 1e6, costs.message_cost * 1e6, costs.sum_rate / 1e9);
  for (const auto bytes : setting.sizes) {
    const auto table = predict_table(setting, bytes);
    print_table(setting, table);
    print_crossovers(setting, table);
  }
}

void add_options(CLI::App& app, Setting& setting) {
  auto& costs = setting.costs;
  const std::string seconds = "seconds", rate = "bytes per second; 0: takes no time";
  app.add_option("--ranks", setting.ranks, "numbers of ranks, ascending")->check(CLI::Range(1, 1 << 16));
  app.add_option("--bytes", setting.sizes, "sizes of the tensors")
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 40));
  app.add_option("--all-reduce", setting.algorithms, "algorithms: direct, ring, hierarchy");
  app.add_option("--latency", costs.latency, seconds + ", of a message between machines");
  app.add_option("--bandwidth", costs.bandwidth, "of a machine's port, each way, " + rate);
  app.add_option("--inside-latency", costs.inside_latency, seconds + ", of a message inside a machine");
  app.add_option("--inside-bandwidth", costs.inside_bandwidth, "of a read in another process's memory, " + rate);
  app.add_option("--message-cost", costs.message_cost, seconds + " of the processor, at the sender and the receiver");
  app.add_option("--sum-rate", costs.sum_rate, "of sums and copies, all summands counted, " + rate);
  app.add_option("--nodes-per-machine", costs.ranks_per_machine, "ranks of a machine, which share its port");
  app.add_option("--shared-cores", costs.shared_cores, "processors that the ranks of a machine share; 0: one each");
  app.add_option("--memory-bandwidth", costs.memory_bandwidth,
                 "bytes per second that all processors of a machine read, copy and add; 0: what each can");
  app.add_flag("--json", setting.json, "print seconds by algorithm, bytes and number of ranks as JSON");
}

void expect_good(const Setting& setting) {
  if (setting.ranks.empty() || setting.sizes.empty() || setting.algorithms.empty())
    throw Error("collective_scale", "there must be a number of ranks, a size and an algorithm");
  if (!std::ranges::is_sorted(setting.ranks)) throw Error("collective_scale", "--ranks must ascend");
}

}  // namespace

int main(int argc, char** argv) {
  Setting setting;
  CLI::App app{"Predicted time of an all-reduce against the number of ranks"};
  add_options(app, setting);
  CLI11_PARSE(app, argc, argv);
  try {
    expect_good(setting);
    setting.json ? print_json(setting) : print_tables(setting);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "collective_scale: " << error.what() << std::endl;
    return 1;
  }
}
