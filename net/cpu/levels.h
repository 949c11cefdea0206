// The CPU backend, compiled for several kinds of processors, its *levels*.
//
// Its sources are compiled once more for each, with other options of the compiler, and linked to
// one object in which every name but MakeBackend is local (net/CMakeLists.txt). So no other code of
// a program gets an inline function that was compiled for a processor it may not have.
#pragma once

#include <memory>

#include "core/instructions.h"
#include "net/backend.h"

namespace starling::net::cpu {

// In a library of its own, which only a portable build and the tests link. REQUIRES:
// ProcessorHas(instructions), which have a level; HasBf16Products() for kBf16; not kTf32.
std::unique_ptr<Backend<float>> MakeBackendFor(Instructions instructions, Precision precision);

}  // namespace starling::net::cpu
