#include "wire/codec.h"

#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/check.h"
#include "wire/fields.h"

namespace starling::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

// Offsets of the header's fields: the table in wire/README.md.
constexpr std::size_t kAtMagic = 0, kAtProtocol = 4, kAtKind = 6, kAtElementType = 7, kAtSlot = 8,
                      kAtIncarnation = 12, kAtSequence = 16, kAtTerm = 24, kAtSession = 28,
                      kAtVersion = 32, kAtCount = 40, kAtFingerprint = 48, kAtChecksum = 56;
static_assert(kAtChecksum + sizeof(std::uint64_t) == kHeaderBytes);

template <class T>
void Put(std::span<std::byte, kHeaderBytes> header, std::size_t at, T value) {
  std::memcpy(header.data() + at, &value, sizeof value);
}

template <class T>
T Take(std::span<const std::byte> header, std::size_t at) {
  T value;
  std::memcpy(&value, header.data() + at, sizeof value);
  return value;
}

// Checks the header by itself.
Refusal CheckHeader(std::span<const std::byte> bytes, std::size_t max_elements) {
  if (bytes.size() != kHeaderBytes) return Refusal::kHeaderSize;
  if (Take<std::uint32_t>(bytes, kAtMagic) != kProtocolMagic) return Refusal::kMagic;
  if (Take<std::uint16_t>(bytes, kAtProtocol) != kProtocolVersion) return Refusal::kProtocol;
  const auto kind = Take<Kind>(bytes, kAtKind);
  if (kind < Kind{1} || kind > Kind{kKinds}) return Refusal::kKind;
  const auto element = Take<ElementType>(bytes, kAtElementType);
  const bool tensor = element == ElementType::kF32;
  if (!tensor && element != ElementType::kNone) return Refusal::kElementType;
  if (tensor && !MayHaveTensor(kind)) return Refusal::kElementType;
  const auto count = Take<std::uint64_t>(bytes, kAtCount);
  if ((count != 0) != tensor) return Refusal::kCount;
  if (count > max_elements) return Refusal::kTensorTooLarge;
  return Refusal::kNone;
}

Header ReadHeader(std::span<const std::byte> bytes) {
  Header header;
  header.kind = Take<Kind>(bytes, kAtKind);
  header.element_type = Take<ElementType>(bytes, kAtElementType);
  header.slot = Take<std::uint32_t>(bytes, kAtSlot);
  header.incarnation = Take<std::uint32_t>(bytes, kAtIncarnation);
  header.sequence = Take<std::uint64_t>(bytes, kAtSequence);
  header.term = Take<std::uint32_t>(bytes, kAtTerm);
  header.session = Take<std::uint32_t>(bytes, kAtSession);
  header.version = Take<std::uint64_t>(bytes, kAtVersion);
  header.count = Take<std::uint64_t>(bytes, kAtCount);
  header.fingerprint = Take<std::uint64_t>(bytes, kAtFingerprint);
  return header;
}

Frames EncodeWith(const Header& header, const Body& body, std::span<const float> tensor,
                  std::uint64_t digest) {
  const Kind kind = KindOf(body);
  CHECK(HasTensor(body) == !tensor.empty(), "a {} with {} elements", KindName(kind), tensor.size());
  Frames frames;
  frames.fields = PackFields(body);
  frames.tensor = tensor;
  // The checksum comes last: it covers the other fields of the header.
  const std::span<std::byte, kHeaderBytes> bytes = frames.header;
  Put(bytes, kAtMagic, kProtocolMagic);
  Put(bytes, kAtProtocol, kProtocolVersion);
  Put(bytes, kAtKind, kind);
  Put(bytes, kAtElementType, tensor.empty() ? ElementType::kNone : ElementType::kF32);
  Put(bytes, kAtSlot, header.slot);
  Put(bytes, kAtIncarnation, header.incarnation);
  Put(bytes, kAtSequence, header.sequence);
  Put(bytes, kAtTerm, header.term);
  Put(bytes, kAtSession, header.session);
  Put(bytes, kAtVersion, header.version);
  Put(bytes, kAtCount, std::uint64_t{tensor.size()});
  Put(bytes, kAtFingerprint, header.fingerprint);
  Put(bytes, kAtChecksum, Checksum(bytes, frames.field_bytes(), digest));
  return frames;
}

}  // namespace

SharedTensor::SharedTensor(std::shared_ptr<const float[]> values, std::size_t count)
    : values_(std::move(values)),
      count_(count),
      digest_(TensorDigest(std::as_bytes(this->values()))) {}

Frames Encode(const Header& header, const Body& body, std::span<const float> tensor) {
  return EncodeWith(header, body, tensor, TensorDigest(std::as_bytes(tensor)));
}

Frames Encode(const Header& header, const Body& body, const SharedTensor& tensor) {
  Frames frames = EncodeWith(header, body, tensor.values(), tensor.digest());
  frames.owner = tensor.owner();
  return frames;
}

DecodeResult Decode(const FrameView& frames, std::size_t max_elements) {
  DecodeResult result;
  const auto refuse = [&](Refusal refusal) {
    result.refusal = refusal;
    return result;
  };
  // 1. The header, and the sizes of all frames against it: cheap checks before the checksum.
  if (frames.count != kMessageFrames) return refuse(Refusal::kFrameCount);
  const Refusal header_refusal = CheckHeader(frames.header, max_elements);
  if (header_refusal != Refusal::kNone) return refuse(header_refusal);
  Message& message = result.message;
  message.header = ReadHeader(frames.header);
  // By division: a count near 2^64 would overflow a product.
  if (frames.tensor.size() % sizeof(float) != 0 ||
      frames.tensor.size() / sizeof(float) != message.header.count) {
    return refuse(Refusal::kTensorSize);
  }
  if (frames.fields.size() > kMaxFieldsBytes) return refuse(Refusal::kFieldsTooLarge);
  // 2. The content.
  if (Take<std::uint64_t>(frames.header, kAtChecksum) !=
      Checksum(frames.header, frames.fields, TensorDigest(frames.tensor))) {
    return refuse(Refusal::kChecksum);
  }
  if (!UnpackFields(message.header.kind, frames.fields, message.body)) {
    return refuse(Refusal::kFields);
  }
  if (HasTensor(message.body) != (message.header.count != 0)) return refuse(Refusal::kCount);
  message.tensor = frames.tensor;
  return result;
}

std::span<const float> Message::floats() const {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data());
  CHECK(address % alignof(float) == 0, "a tensor at {:#x}", address);
  return {reinterpret_cast<const float*>(tensor.data()), tensor.size() / sizeof(float)};
}

const char* RefusalName(Refusal refusal) {
  // In the order of Refusal.
  static constexpr const char* kNames[] = {"none",
                                           "frame_count",
                                           "header_size",
                                           "magic",
                                           "protocol",
                                           "kind",
                                           "element_type",
                                           "count",
                                           "tensor_too_large",
                                           "tensor_size",
                                           "fields_too_large",
                                           "checksum",
                                           "fields"};
  static_assert(std::size(kNames) == kRefusals);
  const auto index = static_cast<std::size_t>(refusal);
  return index < kRefusals ? kNames[index] : "unknown";
}

}  // namespace starling::wire
