// The checks of `starling-bare check`: they compare the GPU, if there is one, with the plain loops
// on the host.
#pragma once

#include "bench/bare/report.h"

namespace starling::bare {

// quick: small shapes and few steps, for slow machines and under slow tools (sanitizers).
void CheckOps(Report& report);                   // every backend and precision, op by op
void CheckGames(Report& report, bool quick);     // the same actions, the same games, bit for bit
void CheckRollouts(Report& report, bool quick);  // whole unrolls and their gradients

}  // namespace starling::bare
