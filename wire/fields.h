// The second frame: the body of a message as a MessagePack map. Part of the codec: other files
// include wire/codec.h.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "wire/protocol.h"

namespace starling::wire {

// CHECKs the limits of protocol.h, but shortens the text of a Leave to its limit.
std::string PackFields(const Body& body);

// Sets `body` to a body of `kind`. Returns false unless the bytes are exactly one map with every
// key of this kind once, of the right type and within its limits. Ignores unknown keys. Never
// throws. REQUIRES: bytes.size() <= kMaxFieldsBytes.
bool UnpackFields(Kind kind, std::span<const std::byte> bytes, Body& body);

}  // namespace starling::wire
