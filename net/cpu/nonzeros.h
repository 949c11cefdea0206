// Where the nonzeros of an array are.
#pragma once

namespace starling::net::cpu {

// Writes the indices of the nonzeros of x (n), ascending, to `out`, which has room for n + 16;
// returns how many there are.
int FindNonzeros(int n, const float* x, int* out);

}  // namespace starling::net::cpu
