// Encoding messages as frames, and decoding. No sockets here.
//
// Invariants: Decode is defined for every byte sequence: it does not throw, abort or read outside
// the spans, and it never allocates more than a few megabytes. Decode accepts every message that
// Encode wrote; the body of an accepted message is complete and within the limits of protocol.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "wire/held_tensor.h"
#include "wire/protocol.h"

namespace starling::wire {

// A tensor that many messages share. It is hashed once, and sockets send it without a copy.
class SharedTensor {
 public:
  SharedTensor() = default;  // empty
  // The `count` floats as elements of `type`: f32 are the floats themselves, bf16 a rounded copy.
  // REQUIRES: the floats never change again.
  SharedTensor(std::shared_ptr<const float[]> values, std::size_t count,
               ElementType type = ElementType::kF32);

  ElementType type() const { return type_; }  // kNone: empty
  std::size_t count() const { return bytes_.size() / BytesOf(type_); }
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  std::uint64_t digest() const { return digest_; }

 private:
  ElementType type_ = ElementType::kNone;
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
  std::uint64_t digest_ = 0;
};

// An encoded message.
struct Frames {
  std::array<std::byte, kHeaderBytes> header{};
  std::string fields;  // MessagePack
  std::span<const std::byte>
      tensor;  // if there is no owner, it must live until the frames are sent
  std::shared_ptr<const void> owner{};

  std::span<const std::byte> header_bytes() const { return header; }
  std::span<const std::byte> field_bytes() const {
    return std::as_bytes(std::span<const char>(fields));
  }
};

// `header` supplies slot, incarnation, sequence, term, session, version and fingerprint; kind,
// element type and count follow from `body` and `tensor`. CHECKs the limits of protocol.h and that
// there is a tensor if and only if HasTensor(body).
Frames Encode(const Header& header, const Body& body, std::span<const float> tensor = {});
Frames Encode(const Header& header, const Body& body, const SharedTensor& tensor);

// A received message: it had `count` frames, of which the first three are here.
struct FrameView {
  std::size_t count = 0;
  std::span<const std::byte> header, fields, tensor;
};

// Why a message was refused, in the order of the checks.
enum class Refusal : std::uint8_t {
  kNone = 0,
  kFrameCount,  // not three frames
  kHeaderSize,  // first frame is not 64 bytes
  kMagic,
  kProtocol,        // another protocol version
  kKind,            // unknown
  kElementType,     // unknown, not allowed for this kind, or not the caller's
  kCount,           // elements in a message without a tensor, or none in one with a tensor
  kTensorTooLarge,  // more elements than the caller allows
  kTensorSize,      // tensor frame is not count * element size bytes
  kFieldsTooLarge,
  kChecksum,
  kFields,  // bad MessagePack, a missing, doubled or mistyped key, a value out of its limits
};
inline constexpr std::size_t kRefusals = 13;
const char* RefusalName(Refusal refusal);  // "frame_count", ...

struct Message {
  Header header;
  Body body;
  std::span<const std::byte> tensor;  // borrowed from the FrameView

  // The tensor as (header.count) floats. CHECKs that it is f32, and aligned for floats, as
  // Envelope's frames are (wire/socket.h).
  std::span<const float> floats() const;
  // Writes the elements of any type to `out` (header.count, CHECKed). Exact.
  void CopyTo(std::span<float> out) const;
  // The elements of any type as floats: f32 as floats() has them, with an empty hold; bf16 widened
  // into memory of their own.
  HeldTensor Widened() const;
};

struct DecodeResult {
  Refusal refusal = Refusal::kNone;
  Message message;  // meaningful only if refusal is kNone

  explicit operator bool() const { return refusal == Refusal::kNone; }
};

// `max_elements`, `type`: the largest tensor that the caller accepts (its net's number of floats),
// and the type of its elements.
DecodeResult Decode(const FrameView& frames, std::size_t max_elements,
                    ElementType type = ElementType::kF32);

// XXH3-64 of a tensor frame; 0 if it is empty.
std::uint64_t TensorDigest(std::span<const std::byte> tensor);
// XXH3-64 of the header with its checksum field zero, the fields and the tensor's digest.
// REQUIRES: `header` has kHeaderBytes bytes.
std::uint64_t Checksum(std::span<const std::byte> header, std::span<const std::byte> fields,
                       std::uint64_t tensor_digest);

}  // namespace starling::wire
