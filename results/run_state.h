// What has become of a run, as sweep.json and reports call it.
#pragma once

#include <cstdint>
#include <string_view>

namespace starling::results {

enum class RunState : std::uint8_t {
  kNotBegun,
  kUnfinished,  // interrupted, or under way without our knowing
  kRunning,     // a child of this sweep
  kFinished,
  kFailed,
  kDamaged,  // its files tell too little
};
std::string_view NameOf(RunState state);  // "not begun", "unfinished" ...

}  // namespace starling::results
