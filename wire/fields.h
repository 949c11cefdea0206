// The second frame: the body of a message as a MessagePack map. Part of the codec; others include
// wire/codec.h.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "wire/protocol.h"

namespace starling::wire {

// CHECKs the limits of protocol.h; only the text of a Bye is cut to its limit instead.
std::string PackFields(const Body& body);

// Fills `body` with the kind asked for. False if the bytes are not exactly one map with every key
// this kind needs, each once, of the right type and within its limits; keys it does not know are
// ignored. Never throws. `bytes.size()` must have been checked against kMaxFieldsBytes.
bool UnpackFields(Kind kind, std::span<const std::byte> bytes, Body& body);

}  // namespace starling::wire
