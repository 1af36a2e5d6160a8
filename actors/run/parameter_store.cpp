#include "troupe/actors/run/parameter_store.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdio>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void ParameterStore::add(const Graph& graph, int replica, Device device) {
  for (auto id : graph.sources("parameter")) {
    const auto& node = graph.producer(id);
    const auto& shape = graph.info(id).shape;
    const auto [entry, is_new] = tensors_.try_emplace({node.name, replica});
    if (!is_new) {
      if (!(entry->second.shape() == shape))
        throw Error("store", "parameter '" + node.name + "' is " + to_string(entry->second.shape()) + ", not " +
                                 to_string(shape));
      continue;
    }
    if (node.trainable && std::find(trained_.begin(), trained_.end(), node.name) == trained_.end())
      trained_.push_back(node.name);
    const auto other = std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& tensor) {
      return tensor.first.first == node.name && tensor.first.second != replica;
    });
    if (other != tensors_.end()) {
      if (!(other->second.shape() == shape))
        throw Error("store", "parameter '" + node.name + "' is " + to_string(other->second.shape()) + ", not " +
                                 to_string(shape));
      entry->second = other->second.clone();
      continue;
    }
    entry->second = Tensor(shape, DType::float32, device);
    const auto stream = std::find(trained_.begin(), trained_.end(), node.name) - trained_.begin();
    node.initializer.fill(entry->second, seed_, static_cast<std::uint64_t>(stream));
  }
}

const Tensor& ParameterStore::get(const std::string& name, int replica) const {
  const auto entry = tensors_.find({name, replica});
  if (entry == tensors_.end())
    throw Error("store", "there is no parameter '" + name + "' of replica " + std::to_string(replica));
  return entry->second;
}

std::string ParameterStore::hash(int replica) const {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  const std::unique_ptr<XXH3_state_t, Free> state(XXH3_createState());
  XXH3_64bits_reset(state.get());
  for (const auto& name : trained_) {
    const auto& tensor = get(name, replica);
    XXH3_64bits_update(state.get(), tensor.raw(), tensor.bytes());
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(XXH3_64bits_digest(state.get())));
  return text;
}

std::int64_t ParameterStore::trained_elements() const {
  std::int64_t sum = 0;
  for (const auto& name : trained_) sum += get(name, 0).elements();
  return sum;
}

}  // namespace troupe
