// The best dense product that this process manages: what every other rate is held against.
#pragma once

namespace starling::bench {

// GFLOP/s of one core, at the best of several sizes, while `threads` threads do the same at once:
// clocks drop when more cores work. Each size takes about `seconds`.
double BestSgemmGflops(double seconds, int threads);

}  // namespace starling::bench
