// The MessagePack map of a message (wire/fields.h). The input: u8 kind, the map.
#include "wire/fields.h"

#include <span>
#include <string>

#include "core/check.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling::wire;
  if (size == 0 || size - 1 > kMaxFieldsBytes) return 0;
  const auto kind = static_cast<Kind>(1 + data[0] % kKinds);
  Body body;
  if (!UnpackFields(kind, std::as_bytes(std::span(data, size).subspan(1)), body)) return 0;
  CHECK(KindOf(body) == kind);
  // Bodies are compared as bytes: a NaN, which a field may hold, does not equal itself.
  const std::string packed = PackFields(body);
  Body again;
  CHECK(UnpackFields(kind, std::as_bytes(std::span(packed)), again), "{}", KindName(kind));
  CHECK(PackFields(again) == packed, "{}", KindName(kind));
  return 0;
}
