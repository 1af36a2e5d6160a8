#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "troupe/transport/job/launcher_variables.hpp"

namespace troupe {

namespace {

constexpr const char* kName = "TF_CONFIG";

/// Returns the addresses of the tasks of one type in `cluster`, by index; none if it has no such tasks. The tasks are a
/// list of addresses or, in a cluster with dynamic workers, a map from index to address. `text`, the whole TF_CONFIG,
/// is for error texts.
std::vector<std::string> addresses(const nlohmann::json& cluster, const std::string& type, const std::string& text) {
  if (!cluster.contains(type)) return {};
  const auto& tasks = cluster[type];
  if (!tasks.is_array() && !tasks.is_object()) refuse_variable(kName, text, "'" + type + "' must list addresses");
  std::vector<std::string> addresses_of_type;
  for (std::size_t index = 0; index < tasks.size(); ++index) {
    const auto key = std::to_string(index);
    if (tasks.is_object() && !tasks.contains(key))
      refuse_variable(kName, text,
                      "it names " + std::to_string(tasks.size()) + " of type " + type + ", but none with index " + key +
                          ": not all are known");
    addresses_of_type.push_back((tasks.is_array() ? tasks[index] : tasks[key]).get<std::string>());
  }
  return addresses_of_type;
}

/// The types of tasks with their roles. Ranks are given to tasks in this order. `master` is the older name of `chief`.
constexpr std::array<std::pair<const char*, ProcessRole>, 5> kTypes{{{"chief", ProcessRole::chief},
                                                                     {"master", ProcessRole::chief},
                                                                     {"worker", ProcessRole::worker},
                                                                     {"ps", ProcessRole::server},
                                                                     {"evaluator", ProcessRole::evaluator}}};

/// The tasks of all types in a cluster.
struct Tasks {
  std::vector<std::string> addresses;                                  // by rank
  std::map<std::string, std::pair<std::size_t, std::size_t>> of_type;  // by type: first rank and number of tasks
};

Tasks tasks_of(const nlohmann::json& cluster, const std::string& text) {
  Tasks tasks;
  for (const auto& [type, role] : kTypes) {
    const auto of_type = addresses(cluster, type, text);
    tasks.of_type[type] = {tasks.addresses.size(), of_type.size()};
    tasks.addresses.insert(tasks.addresses.end(), of_type.begin(), of_type.end());
  }
  const auto chiefs = tasks.of_type["chief"].second + tasks.of_type["master"].second;
  if (chiefs > 1)
    refuse_variable(kName, text, "it names " + std::to_string(chiefs) + " chiefs, but a job has one at most");
  return tasks;
}

/// Returns the role of a task of that type. In a cluster without parameter servers and evaluators the role is `any`,
/// because all processes do the same.
ProcessRole role_of(const std::string& type, const Tasks& tasks) {
  if (tasks.of_type.at("ps").second == 0 && tasks.of_type.at("evaluator").second == 0) return ProcessRole::any;
  return std::ranges::find(kTypes, type, [](const auto& entry) { return std::string(entry.first); })->second;
}

Job parse(const nlohmann::json& config, const std::string& text) {
  const auto& cluster = config.at("cluster");
  const auto tasks = tasks_of(cluster, text);
  const auto type = config.at("task").at("type").get<std::string>();
  const auto& index_value = config.at("task").at("index");
  if (!index_value.is_string() && !index_value.is_number_integer())
    refuse_variable(kName, text, "the index of the task is " + index_value.dump() + ", not an integer");
  const auto index = index_value.is_string() ? number_in("task index in TF_CONFIG", index_value.get<std::string>())
                                             : index_value.get<std::int64_t>();
  const auto entry = tasks.of_type.find(type);
  if (entry == tasks.of_type.end())
    refuse_variable(kName, text, "there are no tasks of type '" + type + "', only chief, worker, ps and evaluator");
  const auto [first, count] = entry->second;
  if (index < 0 || index >= static_cast<std::int64_t>(count))
    refuse_variable(kName, text,
                    "it names " + std::to_string(count) + " of type " + type + ", so there is none with index " +
                        std::to_string(index));
  Job job;
  job.rank = static_cast<int>(index + static_cast<std::int64_t>(first));
  job.world_size = static_cast<int>(tasks.addresses.size());
  job.rendezvous = tasks.addresses[0];
  job.source = kName;
  job.run_id = "tf-" + std::to_string(port_of(cluster.dump()));
  job.role = role_of(type, tasks);
  return job;
}

}  // namespace

std::optional<Job> resolve_tf_config(const Environment& environment) {
  const auto text = environment(kName);
  if (!text || text->empty()) return std::nullopt;
  try {
    const auto config = nlohmann::json::parse(*text);
    // A configuration without a cluster describes no job: a program that runs alone, or an evaluator, may have one.
    if (config.is_object() && (!config.contains("cluster") || config["cluster"].empty())) return std::nullopt;
    return parse(config, *text);
  } catch (const nlohmann::json::exception& error) {
    refuse_variable(kName, *text, error.what());
  }
}

}  // namespace troupe
