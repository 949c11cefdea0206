#include "net/running.h"

namespace starling::net {

template <class T>
void Standardize(const StandardizeArgs<T>& args) {
  for (int j = 0; j < args.width; ++j) {
    const Spread spread = SpreadOf(args.sums + j * kSumsOfNumber);
    for (std::int64_t i = 0; i < args.n; ++i) {
      const double x = args.from[i * args.from_row + j];
      args.to[i * args.to_row + j] = Standard<T>((x - spread.mean) * spread.scale);
    }
  }
}

template <class T>
void SumMoments(const SumMomentsArgs<T>& args) {
  for (int j = 0; j < args.width; ++j) {
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < args.n; ++i) {
      const double x = args.x[i * args.row + j];
      sum += x;
      squares += x * x;
    }
    PutMoments(args, j, sum, squares);
  }
}

template <class T>
void ScaleRewards(const ScaleRewardsArgs<T>& args) {
  for (int i = 0; i < args.n; ++i) ScaleReward(args, i);
}

template void Standardize(const StandardizeArgs<float>&);
template void Standardize(const StandardizeArgs<double>&);
template void SumMoments(const SumMomentsArgs<float>&);
template void SumMoments(const SumMomentsArgs<double>&);
template void ScaleRewards(const ScaleRewardsArgs<float>&);
template void ScaleRewards(const ScaleRewardsArgs<double>&);

}  // namespace starling::net
