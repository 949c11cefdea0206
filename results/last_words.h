// Why a run failed, in the words it said last.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/child.h"

namespace starling::results {

// The sentence among `lines`, which a `starling train` or `starling eval` printed, that tells best
// why it ended: its last error or, where that one only points at a message above it (an operator's
// mistake that a child found), that message; of a child's end also the last error of a child;
// without any error the last lines, up to three, that belong to no summary. "" if nothing was said.
std::string LastWords(std::span<const std::string> lines);

// Why a child that printed `lines` did not end well, "" if it did.
std::string Trouble(const ChildExit& exit, std::span<const std::string> lines);
// Whether that is how one ends that was asked to stop: an evaluation has nothing to save.
bool IsStop(const ChildExit& exit);

// Those that are warnings, or worse.
std::vector<std::string> Warnings(std::span<const std::string> lines);

// The same as LastWords of a run's log: the supervisor's last error since the learner was last started, "" if
// there was none.
std::string LastError(std::span<const std::string> log_lines);

}  // namespace starling::results
