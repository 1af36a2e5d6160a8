#include <cstring>
#include <new>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/core/text_stream.hpp"
#include "troupe/ops/data/array_hashes.hpp"
#include "troupe/ops/data/dataset.hpp"
#include "troupe/ops/data/normalize.hpp"

namespace troupe {

namespace {

/// Calls a function that writes a row of a field. Throws InvalidSample with the text of the function's exception,
/// which is passed on if memory has run out.
void write_row(const auto& write, std::int64_t sample, const std::string& field) {
  try {
    write();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const std::exception& error) {
    throw InvalidSample("dataset", "row " + std::to_string(sample) + " has no '" + field + "': " + error.what(),
                        sample);
  }
}

/// Adds a row of a field to a hash. `memory` has room for the row. A row that the field's function cannot read adds a
/// fixed text: the content of the data names no bad sample, only a step that uses the sample does.
void add_row(Hash& hash, const Dataset& data, std::int32_t sample, std::size_t field, const Tensor& memory) {
  try {
    data.gather({&sample, 1}, field, memory);
  } catch (const InvalidSample&) {
    return hash.add("unreadable");
  }
  hash.add_bytes(memory.raw(), memory.bytes());
}

}  // namespace

std::optional<Dataset::StoredField> Dataset::stored(std::size_t field) const {
  const auto& column = columns_.at(field);
  if (column.write) return std::nullopt;
  const auto& shape = fields()[field].info.shape;
  const auto first = column.first + skipped_ * shape.row_elements();
  const auto rows = column.array.view(shape.with_rows(rows_), column.array.dtype(),
                                      static_cast<std::size_t>(first) * size_of(column.array.dtype()));
  return StoredField{rows, column.scaled, column.scale, column.shift};
}

Tensor Dataset::array(const std::string& field) const {
  const auto index = index_of(field);
  const auto& info = fields()[index].info;
  Tensor all(info.shape.with_rows(rows_), info.dtype);
  gather(in_order().order(0, 0), index, all);
  return all;
}

void Dataset::gather(std::span<const std::int32_t> samples, std::size_t field, const Tensor& to) const {
  const auto& column = columns_.at(field);
  const auto& info = fields()[field].info;
  const auto width = info.shape.row_elements();
  if (to.dtype() != info.dtype || to.elements() != static_cast<std::int64_t>(samples.size()) * width)
    throw Error("dataset", std::to_string(samples.size()) + " rows of " + to_string(fields()[field]) +
                               " do not fit into " + to_string(to));
  const auto to_row_bytes = static_cast<std::size_t>(width) * size_of(info.dtype);
  auto* target = to.mutable_raw();
  const auto dtype = column.write ? info.dtype : column.array.dtype();
  const auto row_bytes = width * static_cast<std::int64_t>(size_of(dtype));
  const auto* first =
      column.write ? nullptr : column.array.raw() + column.first * static_cast<std::int64_t>(size_of(dtype));
  for (const auto sample : samples) {
    if (sample < 0 || sample >= rows_) throw Error("dataset", "there is no row " + std::to_string(sample));
    const auto row = row_of(sample);
    if (column.write)
      write_row([&] { (*column.write)(row, target, to_row_bytes); }, row, fields()[field].name);
    else if (column.scaled)
      normalize(width, dtype, first + row * row_bytes, column.scale, column.shift, reinterpret_cast<float*>(target));
    else if (row_bytes > 0)
      std::memcpy(target, first + row * row_bytes, to_row_bytes);
    target += to_row_bytes;
  }
}

bool Dataset::same_batches(const Dataset& other) const {
  const auto same_column = [](const Column& a, const Column& b) {
    return a.array.same_as(b.array) && a.first == b.first && a.scaled == b.scaled && a.scale == b.scale &&
           a.shift == b.shift && a.write == b.write;
  };
  const auto settings = [](const Dataset& data) {
    return std::tie(*data.fields_, data.rows_, data.batch_, data.prefetch_, data.kept_on_devices_, data.shuffles_all_,
                    data.shuffle_buffer_, data.streams_, data.skipped_, data.times_, data.sharding_);
  };
  return settings(*this) == settings(other) && layout_.hash() == other.layout_.hash() &&
         std::ranges::equal(columns_, other.columns_, same_column);
}

std::string Dataset::content() const {
  TextStream text;
  text << rows_ << " rows, batches of " << batch_
       << (shuffles_all_ ? ", all shuffled" : ", shuffle buffer " + std::to_string(shuffle_buffer_)) << ", streams "
       << streams_ << "\n";
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::string content;
    if (const auto field = stored(i)) {
      content = hashes_->of(field->rows);
    } else {
      Hash hash;
      const auto& info = fields()[i].info;
      const Tensor row(info.shape.with_rows(1), info.dtype);
      for (const auto sample : {std::int64_t{0}, rows_ / 3, rows_ / 2, rows_ - 1}) {
        if (sample < 0 || sample >= rows_) continue;
        add_row(hash, *this, static_cast<std::int32_t>(sample), i, row);
      }
      content = hash.hex();
    }
    text << "field " << to_string(fields()[i]) << " * " << columns_[i].scale << " + " << columns_[i].shift << ": "
         << content << "\n";
  }
  return text.str();
}

}  // namespace troupe
