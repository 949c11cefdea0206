// A worker's description of its envs at the start (protocol.h), written and read. The reader trusts
// nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "envs/frames.h"

namespace starling::envs {

// `spec` as one line of JSON, without the line's end. Bytes that are not UTF-8 are replaced.
std::string WorkerSpecLine(const FrameSpec& spec);

// Returns the spec in `line`, of an env called `name`, or nullopt if it is malformed or impossible:
// no actions, no or too large frames, bounds that are not finite. If `line` is {"error": sentence},
// returns nullopt and sets `mistake` to the sentence.
std::optional<FrameSpec> ReadWorkerSpec(std::string_view line, const std::string& name,
                                        std::string& mistake);

// Whether `line` is {"ready": true}.
bool SaysReady(std::string_view line);

bool SameSpec(const FrameSpec& a, const FrameSpec& b);

}  // namespace starling::envs
