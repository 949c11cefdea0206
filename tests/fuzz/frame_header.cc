// A message as it is read from a socket: three frames (wire/codec.h). The input: u8 frames seen,
// u8 bytes of the header, the header, u16 bytes of the fields, the fields, the tensor.
// It is judged as it is, then as a peer that knows the checksum would have sent it.
#include <span>
#include <vector>

#include "core/check.h"
#include "tests/fuzz/fuzz.h"
#include "wire/codec.h"

namespace {

using namespace starling;
using wire::kHeaderBytes;

constexpr std::size_t kElements = 64;  // of the net that is trained
constexpr std::size_t kAtChecksum = kHeaderBytes - sizeof(std::uint64_t);

// Each frame in memory of its own, of exactly its length.
struct Raw {
  std::size_t count;
  std::vector<std::byte> header, fields, tensor;

  wire::FrameView view() const { return {count, header, fields, tensor}; }
};

std::vector<std::byte> Copy(std::string_view bytes) {
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

void Sign(Raw& raw) {
  if (raw.header.size() != kHeaderBytes) return;
  const std::uint64_t checksum =
      wire::Checksum(raw.header, raw.fields, wire::TensorDigest(raw.tensor));
  std::memcpy(raw.header.data() + kAtChecksum, &checksum, sizeof checksum);
}

wire::Frames SendOn(const wire::Message& message) {
  const std::size_t count = message.header.count;
  if (count == 0) return wire::Encode(message.header, message.body);
  const auto values = std::make_shared<float[]>(count);
  message.CopyTo({values.get(), count});
  return wire::Encode(message.header, message.body,
                      wire::SharedTensor(values, count, message.header.element_type));
}

// An accepted message keeps to the limits, can be sent on and then means the same.
void Judge(const Raw& raw, wire::ElementType type) {
  const wire::DecodeResult first = wire::Decode(raw.view(), kElements, type);
  if (!first) return;
  CHECK(raw.count == wire::kMessageFrames);
  CHECK(first.message.header.count <= kElements);
  CHECK(first.message.header.count == 0 || first.message.header.element_type == type);
  CHECK(KindOf(first.message.body) == first.message.header.kind);
  const wire::Frames sent = SendOn(first.message);
  const wire::DecodeResult second =
      wire::Decode({wire::kMessageFrames, sent.header_bytes(), sent.field_bytes(), sent.tensor},
                   kElements, type);
  CHECK(second, "{}", wire::RefusalName(second.refusal));
  CHECK(second.message.header == first.message.header);
  const wire::Frames again = SendOn(second.message);
  CHECK(again.header == sent.header && again.fields == sent.fields);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  Raw raw{.count = input.Take<std::uint8_t>(), .header = {}, .fields = {}, .tensor = {}};
  raw.header = Copy(input.Take(input.Take<std::uint8_t>()));
  raw.fields = Copy(input.Take(input.Take<std::uint16_t>()));
  raw.tensor = Copy(input.rest());
  for (const wire::ElementType type : {wire::ElementType::kF32, wire::ElementType::kBf16}) {
    Judge(raw, type);
  }
  Sign(raw);
  for (const wire::ElementType type : {wire::ElementType::kF32, wire::ElementType::kBf16}) {
    Judge(raw, type);
  }
  return 0;
}
