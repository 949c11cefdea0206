// The policy of a run plays one env with the newest weights: the process behind the picture on the
// page of a run. A game that crashes costs the picture, and nothing else.
//
// A line of JSON for each step, on the status pipe (core/child.h):
//   {"png": base64, "steps": of the weights, "episode": 1, "step": 7, "value": 0.5,
//    "last": the return of the last whole episode or null,
//    "choices": [[{"name": "left", "p": 0.25, "taken": true}, ...], ...]}
// of a net for a box "coordinates": [[mean, deviation], ...] instead of "choices".
#pragma once

#include <filesystem>

namespace starling::watch {

// Plays until nobody has read a line for five seconds, or `parent` has ended. Returns the exit
// status. Throws UserError if the run has no net that could play here.
int RunLivePlay(const std::filesystem::path& run_dir, int parent);

}  // namespace starling::watch
