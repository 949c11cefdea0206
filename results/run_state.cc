#include "results/run_state.h"

#include <array>

namespace starling::results {

std::string_view NameOf(RunState state) {
  static constexpr std::array<std::string_view, 6> kNames = {"not begun", "unfinished", "running",
                                                             "finished",  "failed",     "damaged"};
  return kNames[static_cast<std::size_t>(state)];
}

}  // namespace starling::results
