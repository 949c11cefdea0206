#include "wire/codec.h"

#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/bfloat16.h"
#include "core/check.h"
#include "wire/fields.h"

namespace starling::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

// Offsets in the header: the table in wire/README.md.
constexpr std::size_t kAtMagic = 0, kAtProtocol = 4, kAtChecksum = 56;
static_assert(kAtChecksum + sizeof(std::uint64_t) == kHeaderBytes);
// Calls visit(offset, field) for each field of a Header.
void VisitFields(auto& header, const auto& visit) {
  visit(6, header.kind);
  visit(7, header.element_type);
  visit(8, header.slot);
  visit(12, header.incarnation);
  visit(16, header.sequence);
  visit(24, header.term);
  visit(28, header.session);
  visit(32, header.version);
  visit(40, header.count);
  visit(48, header.fingerprint);
}

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

// Reads the header and checks it by itself.
Refusal ReadHeader(std::span<const std::byte> bytes, std::size_t max_elements, ElementType type,
                   Header& header) {
  if (bytes.size() != kHeaderBytes) return Refusal::kHeaderSize;
  if (Take<std::uint32_t>(bytes, kAtMagic) != kProtocolMagic) return Refusal::kMagic;
  if (Take<std::uint16_t>(bytes, kAtProtocol) != kProtocolVersion) return Refusal::kProtocol;
  VisitFields(header, [&]<class T>(std::size_t at, T& field) { field = Take<T>(bytes, at); });
  if (header.kind < Kind{1} || header.kind > Kind{kKinds}) return Refusal::kKind;
  const bool tensor = header.element_type != ElementType::kNone;
  if (tensor && (header.element_type != type || !MayHaveTensor(header.kind))) {
    return Refusal::kElementType;
  }
  if ((header.count != 0) != tensor) return Refusal::kCount;
  if (header.count > max_elements) return Refusal::kTensorTooLarge;
  return Refusal::kNone;
}

// `header` by value: kind, element type and count follow from the other arguments.
Frames EncodeWith(Header header, const Body& body, ElementType type,
                  std::span<const std::byte> tensor, std::uint64_t digest) {
  header.kind = KindOf(body);
  header.element_type = tensor.empty() ? ElementType::kNone : type;
  header.count = tensor.size() / BytesOf(type);
  CHECK(HasTensor(body) == !tensor.empty(), "a {} with {} elements", KindName(header.kind),
        header.count);
  Frames frames;
  frames.fields = PackFields(body);
  frames.tensor = tensor;
  // The checksum comes last: it covers the other fields of the header.
  const std::span<std::byte, kHeaderBytes> bytes = frames.header;
  Put(bytes, kAtMagic, kProtocolMagic);
  Put(bytes, kAtProtocol, kProtocolVersion);
  VisitFields(header, [&](std::size_t at, const auto& field) { Put(bytes, at, field); });
  Put(bytes, kAtChecksum, Checksum(bytes, frames.field_bytes(), digest));
  return frames;
}

}  // namespace

SharedTensor::SharedTensor(std::shared_ptr<const float[]> values, std::size_t count,
                           ElementType type)
    : type_(type) {
  const std::span<const float> floats(values.get(), count);
  if (type == ElementType::kBf16) {
    auto rounded = std::make_shared_for_overwrite<Bfloat16[]>(count);
    ToBfloat16(static_cast<int>(count), floats.data(), rounded.get());
    bytes_ = std::as_bytes(std::span<const Bfloat16>(rounded.get(), count));
    owner_ = std::move(rounded);
  } else {
    bytes_ = std::as_bytes(floats);
    owner_ = std::move(values);
  }
  digest_ = TensorDigest(bytes_);
}

Frames Encode(const Header& header, const Body& body, std::span<const float> tensor) {
  const auto bytes = std::as_bytes(tensor);
  return EncodeWith(header, body, ElementType::kF32, bytes, TensorDigest(bytes));
}

Frames Encode(const Header& header, const Body& body, const SharedTensor& tensor) {
  Frames frames = EncodeWith(header, body, tensor.type(), tensor.bytes(), tensor.digest());
  frames.owner = tensor.owner();
  return frames;
}

DecodeResult Decode(const FrameView& frames, std::size_t max_elements, ElementType type) {
  DecodeResult result;
  const auto refuse = [&](Refusal refusal) {
    result.refusal = refusal;
    return result;
  };
  // 1. The header, and the sizes of all frames against it: cheap checks before the checksum.
  if (frames.count != kMessageFrames) return refuse(Refusal::kFrameCount);
  Message& message = result.message;
  const Refusal header_refusal = ReadHeader(frames.header, max_elements, type, message.header);
  if (header_refusal != Refusal::kNone) return refuse(header_refusal);
  // By division: a count near 2^64 would overflow a product.
  const std::size_t size = BytesOf(message.header.element_type);
  if (frames.tensor.size() % size != 0 || frames.tensor.size() / size != message.header.count) {
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
  CHECK(header.element_type != ElementType::kBf16, "bf16 as floats");
  CHECK(address % alignof(float) == 0, "a tensor at {:#x}", address);
  return {reinterpret_cast<const float*>(tensor.data()), tensor.size() / sizeof(float)};
}

void Message::CopyTo(std::span<float> out) const {
  CHECK(out.size() == header.count, "{} elements into room for {}", header.count, out.size());
  if (header.element_type != ElementType::kBf16) {
    if (!out.empty()) std::memcpy(out.data(), tensor.data(), tensor.size());
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = FromBfloat16(Take<Bfloat16>(tensor, i * sizeof(Bfloat16)));
  }
}

HeldTensor Message::Widened() const {
  if (header.element_type != ElementType::kBf16) return {.values = floats(), .hold = {}};
  const auto wide = std::make_shared_for_overwrite<float[]>(header.count);
  const std::span<float> values(wide.get(), header.count);
  CopyTo(values);
  return {.values = values, .hold = wide};
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
