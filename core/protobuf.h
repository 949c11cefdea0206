// Messages of Protocol Buffers, written field by field: a key (number << 3 | wire type), then the
// value (protobuf.dev, "Encoding"). Who reads them knows the meaning of the numbers.
//
// Thread safety: none.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace starling {

class ProtobufMessage {
 public:
  // Of the types int32, int64, uint32, uint64, bool and enum.
  void AddInteger(int field, std::int64_t value) {
    AddKey(field, WireType::kVarint);
    AddVarint(static_cast<std::uint64_t>(value));
  }
  void AddFloat(int field, float value) {
    AddKey(field, WireType::kFixed32);
    AddFixed(value);
  }
  void AddDouble(int field, double value) {
    AddKey(field, WireType::kFixed64);
    AddFixed(value);
  }
  void AddBytes(int field, std::string_view bytes) {  // or a string
    AddKey(field, WireType::kBytes);
    AddVarint(bytes.size());
    bytes_ += bytes;
  }
  void AddMessage(int field, const ProtobufMessage& message) { AddBytes(field, message.bytes_); }
  // Packed: one field, however many values.
  void AddIntegers(int field, std::span<const std::int64_t> values) {
    ProtobufMessage packed;
    for (const std::int64_t value : values) packed.AddVarint(static_cast<std::uint64_t>(value));
    AddMessage(field, packed);
  }

  const std::string& bytes() const { return bytes_; }
  std::string Take() && { return std::move(bytes_); }

 private:
  enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  void AddKey(int field, WireType type) {
    AddVarint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type));
  }
  // Seven bits a byte, the lowest first; all but the last byte have their highest bit set.
  void AddVarint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }
  template <class T>
  void AddFixed(T value) {
    static_assert(std::endian::native == std::endian::little);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  std::string bytes_;
};

}  // namespace starling
