#include "core/safetensors.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/check.h"
#include "core/file.h"
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
constexpr DTypeInfo kDTypes[] = {{"F32", 4}, {"F64", 8}, {"I32", 4},
                                 {"I64", 8}, {"U8", 1},  {"U64", 8}};
static_assert(static_cast<std::size_t>(DType::kU64) + 1 == std::size(kDTypes));

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

}  // namespace

TensorView ViewF32(std::string name, std::vector<std::uint64_t> shape,
                   std::span<const float> data) {
  return {std::move(name), DType::kF32, std::move(shape), std::as_bytes(data)};
}

void WriteSafetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::string header = HeaderOf(tensors, metadata);
  const std::uint64_t length = header.size();
  std::vector<std::string_view> parts = {{reinterpret_cast<const char*>(&length), kLengthBytes},
                                         header};
  for (const TensorView& tensor : tensors) {
    parts.emplace_back(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  header.replace(kPrefix.size(), kDigits, HexChecksum(parts));  // in place: `parts` views it
  WriteFileAtomically(path, parts);
}

SafetensorsFile SafetensorsFile::Read(const std::filesystem::path& path) {
  SafetensorsFile file;
  file.path_ = path.string();
  file.bytes_ = ReadFile(path);
  try {
    // 1. The length of the header, checked before it is used.
    std::uint64_t length = 0;
    if (file.bytes_.size() < kLengthBytes) Fail("it is truncated");
    std::memcpy(&length, file.bytes_.data(), kLengthBytes);
    if (length > kMaxHeaderBytes) {
      Fail("its header would have {} bytes, more than {}", length, kMaxHeaderBytes);
    }
    if (length > file.bytes_.size() - kLengthBytes) Fail("it is truncated within its header");
    file.data_begin_ = kLengthBytes + length;
    // 2. The header, then each tensor by itself, all tensors together, and every byte.
    RawHeader header =
        ParseSafetensorsHeader(std::string_view(file.bytes_).substr(kLengthBytes, length));
    file.metadata_ = std::move(header.metadata);
    for (const RawTensor& tensor : header.tensors) file.ReadTensor(tensor);
    file.CheckOffsets();
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
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > bytes_.size() - data_begin_) {
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
  const std::uint64_t trailing = bytes_.size() - data_begin_ - covered;
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
