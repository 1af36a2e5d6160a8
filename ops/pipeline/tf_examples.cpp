#include "troupe/ops/pipeline/tf_examples.hpp"

#include <algorithm>
#include <limits>
#include <protozero/pbf_reader.hpp>
#include <stdexcept>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/pipeline/tf_records.hpp"

namespace troupe {

namespace {

/// The lists of a tf.train.Feature, by their tags.
enum FeatureKind : protozero::pbf_tag_type { kBytesList = 1, kFloatList = 2, kInt64List = 3 };
/// The tag of the only field in each of the messages Example, Features and the lists.
constexpr protozero::pbf_tag_type kOnlyTag = 1;
constexpr protozero::pbf_tag_type kMapKey = 1, kMapValue = 2;

FeatureKind kind_of(DType dtype) {
  if (dtype == DType::uint8) return kBytesList;
  return dtype == DType::float32 ? kFloatList : kInt64List;
}

void check_example_field(const RowField& field) {
  constexpr DType kDtypes[] = {DType::uint8, DType::float32, DType::int32, DType::int64};
  if (std::ranges::find(kDtypes, field.dtype) == std::end(kDtypes))
    throw Error("tf_examples", "no feature has the dtype of " + to_string(field));
  if (std::ranges::count(field.sizes, RowField::kVaries) > 1)
    throw Error("tf_examples", "several sizes of " + to_string(field) + " vary, but a feature has no shape");
}

/// The message in the field of a message at which a reader is.
protozero::pbf_reader message_at(protozero::pbf_reader& reader) {
  if (reader.wire_type() != protozero::pbf_wire_type::length_delimited)
    throw std::invalid_argument("the example is damaged: a message has another wire type");
  return reader.get_message();
}

/// Moves to the next field with the only tag of a message, of this wire type or packed. Returns false at the end.
bool next_number(protozero::pbf_reader& list, protozero::pbf_wire_type type) {
  if (!list.next(kOnlyTag)) return false;
  if (list.wire_type() != type && list.wire_type() != protozero::pbf_wire_type::length_delimited)
    throw std::invalid_argument("the example is damaged: a number has another wire type");
  return true;
}

/// The shape of a field of `count` values.
Shape shape_of(const RowField& field, std::int64_t count) {
  auto sizes = field.sizes;
  std::int64_t known = 1;
  for (const auto size : sizes) known *= size == RowField::kVaries ? 1 : size;
  const auto varies = std::ranges::find(sizes, RowField::kVaries);
  const bool fits = varies == sizes.end() ? count == known : (known == 0 ? count == 0 : count % known == 0);
  if (!fits)
    throw std::invalid_argument("the feature of " + to_string(field) + " has " + std::to_string(count) + " values");
  if (varies != sizes.end()) *varies = known == 0 ? 0 : count / known;
  return Shape(sizes);
}

template <class T>
Tensor tensor_of(const RowField& field, const std::vector<T>& values) {
  auto tensor = row_tensor(shape_of(field, static_cast<std::int64_t>(values.size())), field.dtype);
  std::ranges::copy(values, tensor.template mutable_data<T>().begin());
  return tensor;
}

Tensor bytes_of(const RowField& field, protozero::pbf_reader list) {
  constexpr auto kTextType = protozero::pbf_wire_type::length_delimited;
  if (!list.next(kOnlyTag, kTextType))
    throw std::invalid_argument("the feature of " + to_string(field) + " has no text");
  const auto text = list.get_view();
  if (list.next(kOnlyTag, kTextType))
    throw std::invalid_argument("the feature of " + to_string(field) + " has several texts");
  auto bytes = row_tensor(shape_of(field, static_cast<std::int64_t>(text.size())), DType::uint8);
  std::copy_n(text.data(), text.size(), reinterpret_cast<char*>(bytes.mutable_raw()));
  return bytes;
}

Tensor floats_of(const RowField& field, protozero::pbf_reader list) {
  std::vector<float> values;
  // Writers pack the values, but a reader of the format takes single ones, too.
  while (next_number(list, protozero::pbf_wire_type::fixed32)) {
    if (list.wire_type() != protozero::pbf_wire_type::length_delimited) {
      values.push_back(list.get_float());
      continue;
    }
    const auto packed = list.get_packed_float();
    values.insert(values.end(), packed.begin(), packed.end());
  }
  return tensor_of(field, values);
}

Tensor integers_of(const RowField& field, protozero::pbf_reader list) {
  std::vector<std::int64_t> values;
  while (next_number(list, protozero::pbf_wire_type::varint)) {
    if (list.wire_type() != protozero::pbf_wire_type::length_delimited) {
      values.push_back(list.get_int64());
      continue;
    }
    const auto packed = list.get_packed_int64();
    values.insert(values.end(), packed.begin(), packed.end());
  }
  if (field.dtype == DType::int64) return tensor_of(field, values);
  std::vector<std::int32_t> narrow;
  for (const auto value : values) {
    if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("the feature of " + to_string(field) + " has the value " + std::to_string(value));
    narrow.push_back(static_cast<std::int32_t>(value));
  }
  return tensor_of(field, narrow);
}

/// The values of a feature. A feature without a list is that of an empty list.
Tensor value_of(const RowField& field, protozero::pbf_reader feature) {
  const auto kind = kind_of(field.dtype);
  protozero::pbf_reader list;
  while (feature.next()) {
    if (feature.tag() != kind)
      throw std::invalid_argument("the feature of " + to_string(field) + " has values of another type");
    list = message_at(feature);
  }
  if (kind == kBytesList) return bytes_of(field, list);
  return kind == kFloatList ? floats_of(field, list) : integers_of(field, list);
}

/// Sets the fields from the entries of a map from names to features.
void set_features(const RowFields& fields, protozero::pbf_reader features, RowWriter& out) {
  while (features.next(kOnlyTag)) {
    auto entry = message_at(features);
    protozero::data_view name;
    protozero::pbf_reader feature;
    while (entry.next())
      if (entry.tag() == kMapKey && entry.wire_type() == protozero::pbf_wire_type::length_delimited)
        name = entry.get_view();
      else if (entry.tag() == kMapValue)
        feature = message_at(entry);
      else
        entry.skip();
    const std::string_view text(name.data(), name.size());
    const auto field = std::ranges::find(fields, text, &RowField::name);
    if (field != fields.end()) out.set(field->name, value_of(*field, feature));
  }
}

}  // namespace

MapFunction decode_example(RowFields fields) {
  for (const auto& field : fields) check_example_field(field);
  // map() would take a missing feature of this name from the record.
  if (std::ranges::find(fields, "record", &RowField::name) != fields.end())
    throw Error("tf_examples", "no field can have the name 'record'");
  return [fields = std::move(fields)](const RowView& in, RowWriter& out, RowRandom&) {
    const auto& record = in["record"];
    protozero::pbf_reader example(reinterpret_cast<const char*>(record.raw()), record.bytes());
    try {
      while (example.next(kOnlyTag)) set_features(fields, message_at(example), out);
    } catch (const protozero::exception& error) {
      throw std::invalid_argument(std::string("the example is damaged: ") + error.what());
    }
  };
}

Pipeline tf_examples(const std::vector<std::string>& paths, const RowFields& fields, const MapOptions& options) {
  return tf_records(paths, options).map(fields, decode_example(fields), options);
}

}  // namespace troupe
