// The instruction sets for which the ops of nets are compiled. The default build has code for the
// processor of its machine alone. A portable build (STARLING_NATIVE=OFF) has those ops three times
// (net/cpu/levels.h); all its other code is for x86-64-v3.
//
// Thread safety: any thread may call them. The first question about kAmx asks the system for its
// registers, for the whole process.
#pragma once

#include <string>

#include "core/config/words.h"

namespace starling {

// Whether this processor has them and the system permits their use. True for kNative.
bool ProcessorHas(Instructions instructions);

// Whether this program has code for them and the processor runs it. True for kAuto.
bool Runs(Instructions instructions);

// kNative in a build for this machine, else the most that run.
Instructions BestInstructions();

// `asked` if they run, otherwise the best that do.
Instructions InstructionsFor(Instructions asked);

// "this processor lacks them" or why else they do not run. REQUIRES: they do not.
std::string WhyNotRun(Instructions instructions);

// "" if `asked` run, otherwise which others are used, and why: a sentence for a warning, without
// its end. Other instructions round differently.
std::string OtherInstructions(Instructions asked);

}  // namespace starling
