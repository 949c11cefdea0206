// Numbers too small for a normal float, which processors compute with a hundred times slower: the
// running squares of weights whose gradient has become zero decay into them.
#pragma once

namespace starling {

// From now on the calling thread takes and gives zero instead of them (a mode of the processor; no
// effect where it has none). Results stay reproducible: every thread that trains is in this mode.
void FlushDenormals();

}  // namespace starling
