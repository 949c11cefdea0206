#include "core/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "core/file.h"
#include "core/file_descriptor.h"
#include "core/safetensors_header.h"

namespace starling {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are written in native byte order");

using Json = nlohmann::ordered_json;  // keeps the metadata in the first place

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kAlignment = 64;
constexpr std::uint64_t kMaxHeaderBytes = 16u << 20;
constexpr std::size_t kDigits = 16;
constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kChecksumKey = "starling.xxh64";
constexpr std::string_view kMarkerKey = "starling.checksum", kMarkerValue = "xxh64";
constexpr std::string_view kZeros = "0000000000000000";
// The first bytes of every header that we write. The digits of the checksum follow.
constexpr std::string_view kPrefix = R"({"__metadata__":{"starling.xxh64":")";

struct DTypeInfo {
  const char* name;  // in files
  std::size_t size;  // bytes
};
// In the order of DType.
constexpr DTypeInfo kDTypes[] = {{"F32", 4}, {"F64", 8}, {"I32", 4}, {"I64", 8},
                                 {"U8", 1},  {"U64", 8}, {"F16", 2}, {"BF16", 2}};
static_assert(static_cast<std::size_t>(DType::kBf16) + 1 == std::size(kDTypes));

const DTypeInfo& InfoOf(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

template <class... Args>
[[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) {
  throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
}

std::optional<DType> DTypeNamed(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kDTypes); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// Returns the bytes of a tensor, or nullopt if the product overflows.
std::optional<std::uint64_t> SizeOf(const std::vector<std::uint64_t>& shape, DType dtype) {
  std::uint64_t size = InfoOf(dtype).size;
  for (const std::uint64_t extent : shape) {
    if (__builtin_mul_overflow(size, extent, &size)) return std::nullopt;
  }
  return size;
}

// XXH64 of the concatenation of `parts`.
std::string HexChecksum(std::span<const std::string_view> parts) {
  const std::unique_ptr<XXH64_state_t, decltype(&XXH64_freeState)> state(XXH64_createState(),
                                                                         &XXH64_freeState);
  CHECK(state != nullptr);
  XXH64_reset(state.get(), 0);
  for (const std::string_view part : parts) XXH64_update(state.get(), part.data(), part.size());
  return fmt::format("{:016x}", XXH64_digest(state.get()));
}

// The JSON header, padded with blanks so that the tensors are aligned, with zeros for the checksum.
std::string HeaderOf(std::span<const TensorView> tensors,
                     const std::map<std::string, std::string>& metadata) {
  // 1. The metadata, beginning with the checksum: kPrefix.
  Json header = Json::object();
  Json& ours = header[kMetadata] = Json::object();
  ours[kChecksumKey] = kZeros;
  ours[kMarkerKey] = kMarkerValue;
  for (const auto& [key, value] : metadata) {
    if (key != kChecksumKey && key != kMarkerKey) ours[key] = value;
  }
  // 2. The tensors, one after the other without holes.
  std::uint64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    CHECK(SizeOf(tensor.shape, tensor.dtype) == tensor.bytes.size(), "tensor {}: {} bytes",
          tensor.name, tensor.bytes.size());
    CHECK(!header.contains(tensor.name), "tensor {}: a name given twice", tensor.name);
    header[tensor.name] = {{"dtype", InfoOf(tensor.dtype).name},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  // 3. The text, padded.
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize(
      (text.size() + kLengthBytes + kAlignment - 1) / kAlignment * kAlignment - kLengthBytes, ' ');
  CHECK(text.starts_with(kPrefix) && text.size() <= kMaxHeaderBytes, "{} bytes", text.size());
  return text;
}

// A regular file to read from its beginning. All errors are std::system_error naming the path.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : path_(path.string()), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status {};
    if (file_.get() < 0 || ::fstat(file_.get(), &status) != 0) Throw(errno);
    if (!S_ISREG(status.st_mode)) Throw(S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  std::uint64_t size() const { return size_; }

  // Appends to `bytes`, the beginning of the file, until there are `size`.
  void ReadUpTo(std::uint64_t size, std::string& bytes) const {
    std::size_t have = bytes.size();
    bytes.resize(size);
    while (have < size) {
      const ssize_t got =
          ::pread(file_.get(), bytes.data() + have, size - have, static_cast<off_t>(have));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) Throw(got < 0 ? errno : EIO);  // it became shorter
      have += static_cast<std::size_t>(got);
    }
  }

 private:
  [[noreturn]] void Throw(int error) const {
    throw std::system_error(error, std::generic_category(), "cannot read " + path_);
  }
  const std::string path_;
  const FileDescriptor file_;
  std::uint64_t size_ = 0;
};

// A reader holds the file and a copy of its tensors. The system would give the memory, and kill the
// process when it is used.
void CheckMemory(const std::string& path, std::uint64_t size) {
  const auto memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  if (size <= memory / 2) return;
  Fail("{} has {} bytes of tensors: they are read into memory twice, and this machine has {} bytes",
       path, size, memory);
}

// Reads the header, whose length is checked before it is used, and leaves its bytes in `bytes`.
RawHeader ReadHeader(const OpenFile& input, const std::string& path, std::string& bytes) {
  std::uint64_t length = 0;
  input.ReadUpTo(std::min<std::uint64_t>(input.size(), kLengthBytes), bytes);
  if (bytes.size() == kLengthBytes) std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes) {
    Fail("{} is no safetensors file: its header would have {} bytes, more than {}", path, length,
         kMaxHeaderBytes);
  }
  if (input.size() < kLengthBytes) Fail("{} is damaged: it is truncated", path);
  if (length > input.size() - kLengthBytes) {
    Fail("{} is damaged: it is truncated within its header", path);
  }
  input.ReadUpTo(kLengthBytes + length, bytes);
  try {
    return ParseSafetensorsHeader(std::string_view(bytes).substr(kLengthBytes, length));
  } catch (const std::exception& error) {
    Fail("{} is damaged: {}", path, error.what());
  }
}

}  // namespace

TensorView ViewF32(std::string name, std::vector<std::uint64_t> shape,
                   std::span<const float> data) {
  return {std::move(name), DType::kF32, std::move(shape), std::as_bytes(data)};
}

void WriteSafetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                      const std::map<std::string, std::string>& metadata, WriteProgress* progress) {
  std::string header = HeaderOf(tensors, metadata);
  const std::uint64_t length = header.size();
  std::vector<std::string_view> parts = {{reinterpret_cast<const char*>(&length), kLengthBytes},
                                         header};
  for (const TensorView& tensor : tensors) {
    parts.emplace_back(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  header.replace(kPrefix.size(), kDigits, HexChecksum(parts));  // in place: `parts` views it
  WriteFileAtomically(path, parts, 0644, progress);
}

SafetensorsFile SafetensorsFile::Read(const std::filesystem::path& path) {
  SafetensorsFile file;
  file.path_ = path.string();
  const OpenFile input(path);
  file.size_ = input.size();
  RawHeader header = ReadHeader(input, file.path_, file.bytes_);
  file.data_begin_ = file.bytes_.size();
  file.metadata_ = std::move(header.metadata);
  // 1. Each tensor by itself, and all tensors together. Only then are their bytes read.
  try {
    for (const RawTensor& tensor : header.tensors) file.ReadTensor(tensor);
    file.CheckOffsets();
  } catch (const std::exception& error) {
    Fail("{} is damaged: {}", file.path_, error.what());
  }
  // 2. Every byte.
  CheckMemory(file.path_, file.size_);
  input.ReadUpTo(file.size_, file.bytes_);
  try {
    file.CheckChecksum();
  } catch (const std::exception& error) {
    Fail("{} is damaged: {}", file.path_, error.what());
  }
  return file;
}

void SafetensorsFile::ReadTensor(const RawTensor& tensor) {
  const std::string& name = tensor.name;
  if (!tensor.dtype || !tensor.shape || !tensor.data_offsets) {
    Fail("tensor \"{}\" lacks its dtype, its shape or its data_offsets", name);
  }
  const std::optional<DType> dtype = DTypeNamed(*tensor.dtype);
  if (!dtype) Fail("tensor \"{}\" has the unknown dtype \"{}\"", name, *tensor.dtype);
  const std::vector<std::uint64_t>& offsets = *tensor.data_offsets;
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > size_ - data_begin_) {
    Fail("tensor \"{}\" leaves the file: it is truncated", name);
  }
  if (SizeOf(*tensor.shape, *dtype) != offsets[1] - offsets[0]) {
    Fail("tensor \"{}\" has {} bytes, which is not its shape", name, offsets[1] - offsets[0]);
  }
  entries_.push_back({name, *dtype, *tensor.shape, offsets[0], offsets[1]});
}

// The tensors must cover the bytes after the header exactly: no overlap, no hole, no trailing byte.
void SafetensorsFile::CheckOffsets() {
  std::ranges::stable_sort(entries_, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  std::uint64_t covered = 0;
  for (const Entry& entry : entries_) {
    if (entry.begin != covered) {
      Fail("tensor \"{}\" {} before it", entry.name,
           entry.begin < covered ? "overlaps the one" : "leaves a hole");
    }
    covered = entry.end;
  }
  const std::uint64_t trailing = size_ - data_begin_ - covered;
  if (trailing != 0) Fail("{} bytes trail its tensors", trailing);
}

void SafetensorsFile::CheckChecksum() {
  const bool marked = metadata_.erase(std::string(kMarkerKey)) > 0;
  const auto found = metadata_.extract(std::string(kChecksumKey));
  if (found.empty()) {
    if (marked) Fail("its checksum is missing");
    return;
  }
  const std::string_view bytes = bytes_;
  const std::size_t digits = kLengthBytes + kPrefix.size();
  if (bytes.substr(kLengthBytes, kPrefix.size()) != kPrefix || found.mapped().size() != kDigits ||
      bytes.substr(digits, kDigits) != found.mapped()) {
    Fail("its checksum does not stand where Starling writes it");
  }
  const std::array<std::string_view, 3> parts = {bytes.substr(0, digits), kZeros,
                                                 bytes.substr(digits + kDigits)};
  if (HexChecksum(parts) != found.mapped()) Fail("its checksum does not match");
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

const SafetensorsFile::Entry& SafetensorsFile::Find(const std::string& name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return entry;
  }
  Fail("{} has no tensor \"{}\"", path_, name);
}

template <class T>
std::vector<T> SafetensorsFile::Values(const std::string& name, DType dtype) const {
  const Entry& entry = Find(name);
  if (entry.dtype != dtype) {
    Fail("{}: tensor \"{}\" is {}, not {}", path_, name, InfoOf(entry.dtype).name,
         InfoOf(dtype).name);
  }
  std::vector<T> values((entry.end - entry.begin) / sizeof(T));
  if (!values.empty()) {  // memcpy must not get the null pointer of an empty vector
    std::memcpy(values.data(), bytes_.data() + data_begin_ + entry.begin, entry.end - entry.begin);
  }
  return values;
}

const std::vector<std::uint64_t>& SafetensorsFile::Shape(const std::string& name) const {
  return Find(name).shape;
}
std::vector<float> SafetensorsFile::F32(const std::string& name) const {
  return Values<float>(name, DType::kF32);
}
std::vector<double> SafetensorsFile::F64(const std::string& name) const {
  return Values<double>(name, DType::kF64);
}
std::vector<std::int64_t> SafetensorsFile::I64(const std::string& name) const {
  return Values<std::int64_t>(name, DType::kI64);
}
std::vector<std::uint64_t> SafetensorsFile::U64(const std::string& name) const {
  return Values<std::uint64_t>(name, DType::kU64);
}

}  // namespace starling
