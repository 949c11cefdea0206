// Reads what a worker says of itself while it starts (protocol.h). None of it is trusted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "envs/frames.h"

namespace starling::envs {

// The spec in `line`, of an env called `name`; nothing if it is none, or one that cannot be: no
// actions, no or too large frames, bounds that are not finite. If `line` is an {"error": sentence}
// it is in `mistake` instead.
std::optional<FrameSpec> ReadWorkerSpec(std::string_view line, const std::string& name,
                                        std::string& mistake);

// Whether `line` is {"ready": true}.
bool SaysReady(std::string_view line);

bool SameSpec(const FrameSpec& a, const FrameSpec& b);

}  // namespace starling::envs
