// Why a run failed, in the words it said last.
#pragma once

#include <span>
#include <string>

namespace starling::fleet {

// The sentence among `lines`, which a `starling train` or `starling eval` printed, that tells best
// why it ended: its last error or, where that one only points at a message above it (an operator's
// mistake that a child found), that message; without any error the last line that belongs to no
// summary. "" if nothing was said.
std::string LastWords(std::span<const std::string> lines);

// The same of a run's log: the supervisor's last error since the learner was last started, "" if
// there was none.
std::string LastError(std::span<const std::string> log_lines);

}  // namespace starling::fleet
