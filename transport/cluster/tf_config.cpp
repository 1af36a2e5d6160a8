#include <nlohmann/json.hpp>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/cluster/variables.hpp"

namespace troupe {

namespace {

constexpr const char* kName = "TF_CONFIG";

/// The addresses of the tasks of one type; a job with dynamic workers gives them as a map by index.
std::vector<std::string> addresses(const nlohmann::json& cluster, const std::string& type, const std::string& text) {
  if (!cluster.contains(type)) return {};
  const auto& tasks = cluster[type];
  std::vector<std::string> found;
  if (tasks.is_array()) {
    for (const auto& address : tasks) found.push_back(address.get<std::string>());
  } else if (tasks.is_object()) {
    for (std::size_t index = 0; index < tasks.size(); ++index) {
      const auto key = std::to_string(index);
      if (!tasks.contains(key))
        refuse_variable(kName, text,
                        "it names " + std::to_string(tasks.size()) + " of type " + type + ", but none with index " +
                            key + ": not all are known");
      found.push_back(tasks[key].get<std::string>());
    }
  } else {
    refuse_variable(kName, text, "'" + type + "' must list addresses");
  }
  return found;
}

Job parse(const nlohmann::json& config, const std::string& text) {
  const auto& cluster = config.at("cluster");
  auto ranks = addresses(cluster, "chief", text);
  const auto masters = addresses(cluster, "master", text);
  ranks.insert(ranks.end(), masters.begin(), masters.end());
  if (ranks.size() > 1) refuse_variable(kName, text, "it names " + std::to_string(ranks.size()) + " chiefs");
  const auto chiefs = ranks.size();
  const auto workers = addresses(cluster, "worker", text);
  ranks.insert(ranks.end(), workers.begin(), workers.end());
  const auto type = config.at("task").at("type").get<std::string>();
  const auto& index_value = config.at("task").at("index");
  const auto index = index_value.is_string() ? number_in("task index in TF_CONFIG", index_value.get<std::string>())
                                             : index_value.get<std::int64_t>();
  const bool is_chief = type == "chief" || type == "master";
  if (!is_chief && type != "worker")
    refuse_variable(kName, text, "this strategy has no task of type '" + type + "', only chief and worker");
  const auto of_type = static_cast<std::int64_t>(is_chief ? chiefs : workers.size());
  if (index < 0 || index >= of_type)
    refuse_variable(kName, text,
                    "it names " + std::to_string(of_type) + " of type " + type + ", so there is none with index " +
                        std::to_string(index));
  Job job;
  job.rank = static_cast<int>(index + (is_chief ? 0 : static_cast<std::int64_t>(chiefs)));
  job.world_size = static_cast<int>(ranks.size());
  job.rendezvous = ranks[0];
  job.source = kName;
  job.run_id = "tf-" + std::to_string(port_of(cluster.dump()));
  return job;
}

}  // namespace

std::optional<Job> resolve_tf_config(const Environment& environment) {
  const auto text = environment(kName);
  if (!text || text->empty()) return std::nullopt;
  try {
    const auto config = nlohmann::json::parse(*text);
    // An evaluator, or a program that runs alone, may have a configuration without a cluster.
    if (config.is_object() && (!config.contains("cluster") || config["cluster"].empty())) return std::nullopt;
    return parse(config, *text);
  } catch (const nlohmann::json::exception& error) {
    refuse_variable(kName, *text, error.what());
  }
}

}  // namespace troupe
