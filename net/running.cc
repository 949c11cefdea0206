#include "net/running.h"

#include <algorithm>
#include <vector>

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
void StandardizePictures(const StandardizePicturesArgs<T>& args) {
  // The processor works on several cells at once: lane l has those of channel l % channels.
  constexpr int kAtOnce = 32;
  const int channels = args.channels, size = args.cells * channels;
  const int lanes = channels * std::max(1, kAtOnce / channels);
  std::vector<double> sums(static_cast<std::size_t>(lanes)), squares(sums), means(sums),
      scales(sums);
  for (std::int64_t i = 0; i < args.n; ++i) {
    const T* const from = args.from + i * args.from_row;
    T* const to = args.to + i * args.to_row;
    std::ranges::fill(sums, 0.0);
    std::ranges::fill(squares, 0.0);
    for (int at = 0; at < size; at += lanes) {
      for (int l = 0; l < std::min(lanes, size - at); ++l) {
        const double x = from[at + l];
        sums[l] += x;
        squares[l] += x * x;
      }
    }
    for (int c = 0; c < channels; ++c) {
      double of_all = 0, of_squares = 0;
      for (int l = c; l < lanes; l += channels) {
        of_all += sums[l];
        of_squares += squares[l];
      }
      const Spread spread = SpreadOf(args.cells, of_all, of_squares);
      for (int l = c; l < lanes; l += channels) {
        means[l] = spread.mean;
        scales[l] = spread.scale;
      }
    }
    for (int at = 0; at < size; at += lanes) {
      for (int l = 0; l < std::min(lanes, size - at); ++l) {
        to[at + l] = Standard<T>((from[at + l] - means[l]) * scales[l]);
      }
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
template void StandardizePictures(const StandardizePicturesArgs<float>&);
template void StandardizePictures(const StandardizePicturesArgs<double>&);
template void SumMoments(const SumMomentsArgs<float>&);
template void SumMoments(const SumMomentsArgs<double>&);
template void ScaleRewards(const ScaleRewardsArgs<float>&);
template void ScaleRewards(const ScaleRewardsArgs<double>&);

}  // namespace starling::net
