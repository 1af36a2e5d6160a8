#include "troupe/ops/pipeline/record_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "troupe/ops/core/error.hpp"

namespace troupe {

RandomAccessFile::RandomAccessFile(std::string place, std::string path)
    : place_(std::move(place)), path_(std::move(path)), descriptor_(open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) refuse(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status {};
  const bool is_file = fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  if (!is_file) {
    close(descriptor_);
    refuse("is no regular file");
  }
  bytes_ = static_cast<std::uint64_t>(status.st_size);
}

RandomAccessFile::~RandomAccessFile() {
  close(descriptor_);
}

void RandomAccessFile::refuse(const std::string& what) const {
  throw Error(place_, "'" + path_ + "' " + what);
}

void RandomAccessFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const auto bytes = pread(descriptor_, to.data(), to.size(), static_cast<off_t>(offset));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
    if (bytes == 0) refuse("ends before byte " + std::to_string(offset + to.size()));
    offset += static_cast<std::uint64_t>(bytes);
    to = to.subspan(static_cast<std::size_t>(bytes));
  }
}

void RandomAccessFile::refuse_compressed(const std::string& advice) const {
  std::array<std::byte, 2> begin{};
  if (bytes_ < begin.size()) return;
  read(0, begin);
  if (begin[0] == std::byte{0x1F} && begin[1] == std::byte{0x8B}) refuse("is compressed: " + advice);
}

std::span<const std::byte> FileScan::from(std::uint64_t offset, std::size_t least) {
  constexpr std::uint64_t kBytesOfPart = std::uint64_t{1} << 20;
  const auto left = file_.bytes() - std::min(offset, file_.bytes());
  if (offset < first_ || offset + std::min<std::uint64_t>(least, left) > first_ + part_.size()) {
    first_ = offset;
    part_.resize(static_cast<std::size_t>(std::min(left, std::max<std::uint64_t>(least, kBytesOfPart))));
    file_.read(offset, part_);
  }
  return std::span<const std::byte>(part_).subspan(std::min(part_.size(), static_cast<std::size_t>(offset - first_)));
}

namespace {

/// A file with the places of its records.
struct RecordFile {
  std::unique_ptr<RandomAccessFile> file;
  std::shared_ptr<const std::string> name;
  RecordPlaces places;
  std::int64_t first_row;  // the number of its first record among the records of all files

  std::int64_t rows() const { return static_cast<std::int64_t>(places.size()) - 1; }
};

class FileRows final : public Transform {
 public:
  FileRows(std::string place, std::vector<RecordFile> files)
      : Transform({{"record", DType::uint8, {RowField::kVaries}}}, 0),
        place_(std::move(place)),
        files_(std::move(files)) {}

  bool is_indexed() const override { return true; }
  std::unique_ptr<RowReader> reader(const RowEpoch&) const override { return std::make_unique<Reader>(files_); }
  // The sizes of the files tell most changes of their contents.
  void describe(ByteSequence& to) const override {
    to.add(place_);
    for (const auto& file : files_) {
      to.add(file.rows());
      to.add(file.file->bytes());
    }
  }

 private:
  class Reader final : public RowReader {
   public:
    explicit Reader(const std::vector<RecordFile>& files) : files_(files) {}
    std::int64_t size() const override { return files_.empty() ? 0 : files_.back().first_row + files_.back().rows(); }
    Row read(std::int64_t index) const override {
      std::vector<Row> rows;
      read_range(index, 1, rows);
      return std::move(rows.front());
    }
    void read_range(std::int64_t first, std::int64_t count, std::vector<Row>& rows) const override {
      for (const auto end = first + count; first < end;) {
        const auto& file = *std::prev(std::ranges::upper_bound(files_, first, {}, &RecordFile::first_row));
        const auto in_file = std::min(end, file.first_row + file.rows()) - first;
        try {
          first += read_part(file, first - file.first_row, in_file, rows);
        } catch (const Error&) {
          // The first of the records may be readable. An error that it has is passed on.
          first += read_part(file, first - file.first_row, 1, rows);
        }
      }
    }

   private:
    /// Adds up to `count` records of a file, which are read at once. Returns their number.
    static std::int64_t read_part(const RecordFile& file, std::int64_t first, std::int64_t count,
                                  std::vector<Row>& rows) {
      // Records that are read at once share memory.
      constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 10;
      const auto place = [&](std::int64_t record) { return file.places[static_cast<std::size_t>(record)]; };
      auto end = first + 1;
      while (end < first + count && place(end + 1) - place(first) <= kMostBytes) ++end;
      const auto bytes = place(end) - place(first);
      const auto memory = row_tensor({static_cast<std::int64_t>(bytes)}, DType::uint8);
      if (bytes > 0) file.file->read(place(first), {memory.mutable_raw(), static_cast<std::size_t>(bytes)});
      for (auto record = first; record < end; ++record)
        rows.push_back({{memory.view({static_cast<std::int64_t>(place(record + 1) - place(record))},
                                     static_cast<std::size_t>(place(record) - place(first)))},
                        {file.name, record}});
      return end - first;
    }

    const std::vector<RecordFile>& files_;
  };

  std::string place_;
  std::vector<RecordFile> files_;
};

}  // namespace

TransformPtr rows_of_files(const std::string& place, const std::vector<std::string>& paths, const FindRecords& find) {
  std::vector<RecordFile> files;
  std::int64_t rows = 0;
  for (const auto& path : paths) {
    auto file = std::make_unique<RandomAccessFile>(place, path);
    auto places = find(*file);
    files.push_back({std::move(file), std::make_shared<const std::string>(path), std::move(places), rows});
    rows += files.back().rows();
  }
  // Files without records would have the first row of the file behind them.
  std::erase_if(files, [](const RecordFile& file) { return file.rows() == 0; });
  return std::make_shared<FileRows>(place, std::move(files));
}

}  // namespace troupe
