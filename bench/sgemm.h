// The fastest dense product of this process, to which other rates are compared.
#pragma once

namespace starling::bench {

// Returns GFLOP/s of one core at the fastest of several sizes, while `threads` threads work at
// once, because clocks drop when more cores work. Each size takes about `seconds`.
double BestSgemmGflops(double seconds, int threads);

}  // namespace starling::bench
