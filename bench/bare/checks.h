// The checks of `starling-bare check`: a GPU, where there is one, held to the plain loops on the
// host.
#pragma once

#include "bench/bare/report.h"

namespace starling::bare {

// quick: small shapes and few steps, for slow machines and for tools that make everything slow.
void CheckOps(Report& report);                   // every backend and precision, op by op
void CheckGames(Report& report, bool quick);     // the same actions, the same games, bit for bit
void CheckRollouts(Report& report, bool quick);  // whole unrolls and their gradients

}  // namespace starling::bare
