// Denormals: numbers too small for a normal float. Processors compute a hundred times slower with
// them, and the running squares of weights whose gradient has become zero decay into them.
#pragma once

namespace starling {

// Makes the calling thread treat denormal inputs and results as zero from now on (a processor mode;
// no effect on processors without it). Every training thread does so, so results are reproducible.
void FlushDenormals();

}  // namespace starling
