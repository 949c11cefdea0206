// What a worker says of itself while it starts (protocol.h), written and read. Nothing that is read is trusted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "envs/frames.h"

namespace starling::envs {

// `spec` as a worker of ours says it: one line of JSON, without its end. What is no UTF-8 is replaced.
std::string WorkerSpecLine(const FrameSpec& spec);

// The spec in `line`, of an env called `name`; nothing if it is none, or one that cannot be: no
// actions, no or too large frames, bounds that are not finite. If `line` is an {"error": sentence}
// it is in `mistake` instead.
std::optional<FrameSpec> ReadWorkerSpec(std::string_view line, const std::string& name,
                                        std::string& mistake);

// Whether `line` is {"ready": true}.
bool SaysReady(std::string_view line);

bool SameSpec(const FrameSpec& a, const FrameSpec& b);

}  // namespace starling::envs
