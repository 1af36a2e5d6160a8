#include "troupe/strategies/step/gradient_hook.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/math.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/slice.hpp"
#include "troupe/ops/library/top_k.hpp"
#include "troupe/strategies/step/flat_gradients.hpp"

namespace troupe {

namespace {

/// The largest number of elements of a Part. Indices in a part are sent as float32, which holds integers up to this
/// number exactly.
constexpr std::int64_t kPart = std::int64_t{1} << 24;

std::vector<Shape> shapes_of(std::span<const Value> values) {
  std::vector<Shape> shapes;
  for (const auto& value : values) shapes.push_back(value.shape());
  return shapes;
}

std::int64_t elements_of(std::span<const Shape> shapes) {
  std::int64_t sum = 0;
  for (const auto& shape : shapes) sum += shape.elements();
  return sum;
}

/// A range of the flat gradients, and the number of its elements that TopKGradients sends.
struct Part {
  std::int64_t offset, size, picked;
};

std::vector<Part> parts_of(std::int64_t elements, double share) {
  std::vector<Part> parts;
  for (std::int64_t offset = 0; offset < elements; offset += kPart) {
    const auto size = std::min(kPart, elements - offset);
    const auto picked = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(size)));
    parts.push_back({offset, size, std::clamp<std::int64_t>(picked, 1, size)});
  }
  return parts;
}

}  // namespace

std::vector<Value> GradientHook::sum(std::span<const Value> gradients, const Site& site) const {
  const auto shapes = shapes_of(gradients);
  const auto encoded = encode(gradients, site);
  const auto all = all_gather(encoded, site.replicas);
  std::vector<Value> sums;
  for (std::int64_t replica = 0; replica < site.replicas; ++replica) {
    const auto of_replica = view_at(all, replica * encoded.shape().elements(), encoded.shape());
    auto decoded = decode(of_replica, shapes);
    for (std::size_t i = 0; i < sums.size(); ++i) decoded[i] = add(sums[i], decoded[i]);
    sums = std::move(decoded);
  }
  return sums;
}

void set_states(const GradientHook::NextStates& states, Value apply_if) {
  for (const auto& [state, next] : states) state.builder().apply_one(kAssign, {state, next, apply_if});
}

HalfPrecision::HalfPrecision(DType dtype) : dtype_(dtype) {
  if (dtype != DType::float16 && dtype != DType::bfloat16)
    throw Error("half_precision", "sends float16 or bfloat16, not " + std::string(name_of(dtype)));
}

Value HalfPrecision::encode(std::span<const Value> gradients, const Site&) const {
  return cast(flattened(gradients), dtype_);
}

std::vector<Value> HalfPrecision::decode(Value encoded, std::span<const Shape> shapes) const {
  return unflattened(cast(encoded, DType::float32), shapes);
}

std::vector<Value> HalfPrecision::sum(std::span<const Value> gradients, const Site& site) const {
  return decode(all_reduce(encode(gradients, site)), shapes_of(gradients));
}

std::shared_ptr<const GradientHook> gradient_hook_of(std::string_view text) {
  const auto colon = text.find(':');
  const auto kind = text.substr(0, colon);
  const auto rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (text == "none") return nullptr;
  if (text == "float16") return std::make_shared<HalfPrecision>(DType::float16);
  if (text == "bfloat16") return std::make_shared<HalfPrecision>(DType::bfloat16);
  const auto parsed = [&](auto number) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    return error == std::errc() && end == rest.data() + rest.size() ? std::optional(number) : std::nullopt;
  };
  if (kind == "top_k")
    if (const auto share = parsed(double{})) return std::make_shared<TopKGradients>(*share);
  if (kind == "power_sgd")
    if (const auto rank = parsed(std::int64_t{})) return std::make_shared<PowerSgd>(*rank);
  throw Error("gradient_hook",
              "'" + std::string(text) + "' is not one of none, float16, bfloat16, top_k:SHARE and power_sgd:RANK");
}

TopKGradients::TopKGradients(double share) : share_(share) {
  if (!(share > 0.0 && share <= 1.0))
    throw Error("top_k_gradients", "the part that is sent must be in (0, 1], not " + std::to_string(share));
}

Value TopKGradients::encode(std::span<const Value> gradients, const Site& site) const {
  const auto block = flattened(gradients);
  const auto kept = block.builder().replica_state(site.name + "/kept", block.shape(), Initializer::zeros());
  const auto all = add(block, kept);
  std::vector<Value> values, places;
  for (const auto& [offset, size, picked] : parts_of(block.shape().elements(), share_)) {
    const auto part = view_at(all, offset, Shape{size});
    const auto indices = top_k(abs(part), picked).indices;
    values.push_back(gather(part, indices));
    places.push_back(cast(indices, DType::float32));
  }
  values.insert(values.end(), places.begin(), places.end());
  const auto encoded = concat(values, 0);
  site.set_state(kept, sub(all, decode(encoded, std::vector{block.shape()}).front()));
  return encoded;
}

std::vector<Value> TopKGradients::decode(Value encoded, std::span<const Shape> shapes) const {
  const auto parts = parts_of(elements_of(shapes), share_);
  std::int64_t all_picked = 0;
  for (const auto& part : parts) all_picked += part.picked;
  std::vector<Value> decoded;
  std::int64_t done = 0;
  for (const auto& [offset, size, picked] : parts) {
    const auto places = cast(view_at(encoded, all_picked + done, Shape{picked}), DType::int32);
    decoded.push_back(scatter_add(view_at(encoded, done, Shape{picked}), places, size));
    done += picked;
  }
  return unflattened(decoded.size() == 1 ? decoded.front() : concat(decoded, 0), shapes);
}

}  // namespace troupe
