#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/pipeline/row_memory.hpp"

namespace troupe {

/// A field of the rows of a pipeline.
struct RowField {
  /// The size of an axis that differs between rows.
  static constexpr std::int64_t kVaries = -1;

  std::string name;
  DType dtype = DType::float32;
  /// The sizes of the axes in one row; none for a number.
  std::vector<std::int64_t> sizes = {};

  bool operator==(const RowField&) const = default;
};

/// The field as text, such as `'image' uint8[?, ?, 3]`, with a question mark for a size that varies.
std::string to_string(const RowField& field);

using RowFields = std::vector<RowField>;

/// The fields as text, separated by commas.
std::string to_string(const RowFields& fields);

/// The index of the field named `name`. Throws Error that lists the fields if there is none.
std::size_t index_of(const RowFields& fields, std::string_view name);
/// Throws Error if there is no field, a name is empty or occurs twice, a size is below kVaries or a field has too many
/// axes.
void check_fields(const RowFields& fields);

/// The place from which a row was read, for errors.
struct RowOrigin {
  std::shared_ptr<const std::string> source = nullptr;  ///< the name of a file or of another source
  std::int64_t number = 0;                              ///< the number of the row in the source, from 0 on
};

/// The origin as text, such as `row 17 of 'train.csv'`.
std::string to_string(const RowOrigin& origin);

/// A row of a pipeline: a tensor in host memory for each field. Copies of a row share the tensors, which are not
/// written any more.
struct Row {
  std::vector<Tensor> values = {};
  RowOrigin origin = {};
};

/// Throws std::invalid_argument if a tensor is not as its field says.
void check_row(const RowFields& fields, const Row& row);

/// A row that a user's function reads, with the names of its fields. The row and the fields must outlive the object.
class RowView {
 public:
  RowView(const RowFields& fields, const Row& row) : fields_(fields), row_(row) {}

  /// The tensor of a field. Throws Error that lists the fields if there is no such field.
  const Tensor& operator[](std::string_view name) const { return row_.values[index_of(fields_, name)]; }
  /// The elements of a field. Throws Error if T is not the type of the field, or if there is no such field.
  template <class T>
  std::span<const T> values(std::string_view name) const {
    return (*this)[name].data<T>();
  }
  /// The element of a field with one element. Throws the errors of values(), and Error for another number of elements.
  template <class T>
  T value(std::string_view name) const {
    return (*this)[name].item<T>();
  }
  const RowOrigin& origin() const { return row_.origin; }
  const Row& row() const { return row_; }

 private:
  const RowFields& fields_;
  const Row& row_;
};

/// A row that a user's function makes. The fields and the row must outlive the object.
class RowWriter {
 public:
  RowWriter(const RowFields& fields, Row& row) : fields_(fields), row_(row) {}

  /// Sets a field. Throws Error that lists the fields if there is no such field.
  void set(std::string_view name, Tensor value) { row_.values[index_of(fields_, name)] = std::move(value); }
  /// Sets a field to zeros and returns its elements, which the function may write until it returns. Throws Error if
  /// there is no such field.
  template <class T>
  std::span<T> make(std::string_view name, const Shape& shape) {
    auto& value = row_.values[index_of(fields_, name)];
    value = row_tensor(shape, DTypeOf<T>::value);
    return value.mutable_data<T>();
  }

 private:
  const RowFields& fields_;
  Row& row_;
};

}  // namespace troupe
