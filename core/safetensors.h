// The safetensors format (8-byte little-endian header length, JSON header, raw tensor bytes). Our
// files also have a checksum in the metadata that finds a flipped bit anywhere in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/file.h"

namespace starling {

enum class DType : std::uint8_t { kF32, kF64, kI32, kI64, kU8, kU64, kF16, kBf16 };

// A tensor to write; the bytes are borrowed. REQUIRES: `bytes.size()` is the product of `shape` (1
// for a scalar) times the size of an element.
struct TensorView {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;
};
TensorView ViewF32(std::string name, std::vector<std::uint64_t> shape, std::span<const float> data);

// Writes the tensors in the order given, atomically. The metadata keys "starling.xxh64" and
// "starling.checksum" are reserved: values for them are ignored. Throws std::system_error.
// REQUIRES: the names differ.
void WriteSafetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                      const std::map<std::string, std::string>& metadata = {},
                      WriteProgress* progress = nullptr);

struct RawTensor;  // core/safetensors_header.h

// A whole file in memory. Files of other programs, without our checksum, are accepted.
class SafetensorsFile {
 public:
  // Throws std::runtime_error, a sentence naming the path and the defect: unreadable, truncated,
  // no regular file, header not JSON or above 16 MiB, a name twice, an unknown dtype, offsets that
  // overlap, leave holes or leave the file, more tensors than memory, checksum mismatch. No content
  // can cause anything worse. Reads no tensors before the header agrees with the size of the file.
  static SafetensorsFile Read(const std::filesystem::path& path);

  // Without the reserved keys.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::vector<std::string> names() const;  // in file order
  // All throw std::runtime_error naming the tensor if it is absent or has another dtype.
  const std::vector<std::uint64_t>& Shape(const std::string& name) const;
  std::vector<float> F32(const std::string& name) const;
  std::vector<double> F64(const std::string& name) const;
  std::vector<std::int64_t> I64(const std::string& name) const;
  std::vector<std::uint64_t> U64(const std::string& name) const;

 private:
  struct Entry {
    std::string name;
    DType dtype;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin, end;  // byte offsets from data_begin_
  };
  SafetensorsFile() = default;
  const Entry& Find(const std::string& name) const;
  template <class T>
  std::vector<T> Values(const std::string& name, DType dtype) const;
  void ReadTensor(const RawTensor& tensor);
  void CheckOffsets();
  void CheckChecksum();

  std::string path_;
  std::map<std::string, std::string> metadata_;
  std::vector<Entry> entries_;
  std::uint64_t size_ = 0;      // bytes of the file
  std::string bytes_;           // the whole file, at the end of Read
  std::size_t data_begin_ = 0;  // offset of the first tensor in it
};

}  // namespace starling
