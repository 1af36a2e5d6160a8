#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// A .safetensors file: named arrays behind a header in JSON, in the format of the library safetensors of Hugging Face,
/// which PyTorch and others write. Source of the format: the documentation of that library.
class SafetensorsFile {
 public:
  /// An array of the file.
  struct Entry {
    std::string name;
    std::string type;  ///< in the file, such as F32
    Shape shape;
    std::uint64_t first_byte, bytes;  ///< counted from the end of the header
    DType dtype;                      ///< the dtype of the tensor that read() returns
  };

  /// The most bytes of a header, the same as in that library.
  static constexpr std::uint64_t kMostHeaderBytes = 100'000'000;

  /// Opens a file and reads its header. Throws Error that names the file if it is missing or truncated, if its header
  /// is damaged or has an array twice, if the arrays overlap or leave bytes between them, or if an array has a type of
  /// elements that no dtype holds or more than Shape::kMaxRank axes.
  explicit SafetensorsFile(std::filesystem::path path);

  /// The arrays in the order of their bytes.
  const std::vector<Entry>& entries() const { return entries_; }
  /// The texts that the writer has added, by name.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// Reads an array. F32, F16, BF16, I32, I64 and U8 keep their dtype. F64 becomes float32; I8, I16 and U16 become
  /// int32; U32 and U64 become int64; BOOL becomes uint8. Throws Error that names the file and the array if the file
  /// cannot be read, the array does not fit into memory, or a number is outside of the range of its dtype.
  Tensor read(const Entry& entry) const;
  /// Reads the array of that name. Throws Error that lists the arrays if there is none.
  Tensor read(const std::string& name) const;

 private:
  [[noreturn]] void refuse(const std::string& what) const;
  void read_header(const std::string& text, std::uint64_t bytes_after);
  void add_entry(const std::string& name, const std::string& type, const std::vector<std::int64_t>& sizes,
                 std::uint64_t begin, std::uint64_t end);
  void expect_no_holes(std::uint64_t bytes_after);

  std::filesystem::path path_;
  std::uint64_t data_ = 0;  // the position in the file of the first byte behind the header
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;  // the index in entries_ by name
  std::map<std::string, std::string> metadata_;
};

/// Arrays by name.
using NamedArrays = std::vector<std::pair<std::string, Tensor>>;

/// Reads all arrays of a file; see SafetensorsFile. Trainer::set_parameters() takes them.
NamedArrays read_safetensors(const std::filesystem::path& path);

/// The bytes of a .safetensors file that is to be written: those of the header, and those of the arrays in host memory,
/// which must not change meanwhile.
class SafetensorsImage {
 public:
  /// Arrays may be on any device. Throws Error that names `path` if a name occurs twice, is `__metadata__` or is not in
  /// UTF-8, if an array is an empty handle, or if the header would be larger than kMostHeaderBytes.
  SafetensorsImage(const std::filesystem::path& path, NamedArrays arrays,
                   const std::map<std::string, std::string>& metadata = {});

  /// The bytes of the file, one part after the other, valid as long as the object lives.
  std::vector<std::span<const std::byte>> parts() const;

 private:
  std::string header_;
  NamedArrays arrays_;
};

/// Writes arrays and texts by name to a file, which takes the place of an old one in one step. Throws Error like
/// SafetensorsImage, and Error that names the file if it cannot be written.
void write_safetensors(const std::filesystem::path& path, const NamedArrays& arrays,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace troupe
