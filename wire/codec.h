// Messages to frames and back. No sockets here: spans of bytes in, verdicts out.
//
// Invariants: Decode is defined for every byte sequence: it neither throws, aborts nor reads
// outside the spans, and it allocates no more than a few megabytes whatever the bytes claim. What
// Encode wrote, Decode accepts; of what it accepts, the body is complete and every limit of
// protocol.h holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "wire/protocol.h"

namespace starling::wire {

// Numbers that any number of messages bring, from where they lie: written once, hashed once, copied
// by no socket.
class SharedTensor {
 public:
  SharedTensor() = default;  // no numbers
  // `count` floats, which never change again.
  SharedTensor(std::shared_ptr<const float[]> values, std::size_t count);

  std::span<const float> values() const { return {values_.get(), count_}; }
  const std::shared_ptr<const float[]>& owner() const { return values_; }
  std::uint64_t digest() const { return digest_; }

 private:
  std::shared_ptr<const float[]> values_;
  std::size_t count_ = 0;
  std::uint64_t digest_ = 0;
};

// An encoded message.
struct Frames {
  std::array<std::byte, kHeaderBytes> header{};
  std::string fields;             // MessagePack
  std::span<const float> tensor;  // without an owner it must live until the frames are sent
  std::shared_ptr<const float[]> owner{};

  std::span<const std::byte> header_bytes() const { return header; }
  std::span<const std::byte> field_bytes() const {
    return std::as_bytes(std::span<const char>(fields));
  }
  std::span<const std::byte> tensor_bytes() const { return std::as_bytes(tensor); }
};

// `header` supplies slot, incarnation, sequence, term, version and fingerprint; kind, element type
// and count follow from `body` and `tensor`. CHECKs the limits of protocol.h and that exactly
// gradients and weights bring a tensor.
Frames Encode(const Header& header, const Body& body, std::span<const float> tensor = {});
Frames Encode(const Header& header, const Body& body, const SharedTensor& tensor);

// A message as it came off a socket: `count` frames were seen, the first three of them are here.
struct FrameView {
  std::size_t count = 0;
  std::span<const std::byte> header, fields, tensor;
};

// Why a message was not understood. In the order in which it is checked.
enum class Refusal : std::uint8_t {
  kNone = 0,
  kFrameCount,  // not three frames
  kHeaderSize,  // first frame is not 64 bytes
  kMagic,
  kProtocol,        // another protocol version
  kKind,            // unknown
  kElementType,     // unknown, or not what this kind carries
  kCount,           // elements where there must be none, or none where there must be some
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

  // The tensor as (header.count) floats. CHECKs that it is aligned for floats, as the sockets hand
  // it out (wire/socket.h).
  std::span<const float> floats() const;
};

struct DecodeResult {
  Refusal refusal = Refusal::kNone;
  Message message;  // meaningful only if refusal is kNone

  explicit operator bool() const { return refusal == Refusal::kNone; }
};

// `max_elements`: the largest tensor the caller can use (its net's number of floats).
DecodeResult Decode(const FrameView& frames, std::size_t max_elements);

// XXH3-64 of a tensor frame; 0 of an empty one.
std::uint64_t TensorDigest(std::span<const std::byte> tensor);
// XXH3-64 over the header with its checksum field zero, then the fields, then the tensor's digest.
// `header` is kHeaderBytes long (CHECKed).
std::uint64_t Checksum(std::span<const std::byte> header, std::span<const std::byte> fields,
                       std::uint64_t tensor_digest);

}  // namespace starling::wire
