// Statistics of observations and rewards, and their use. Same formulas as net/running.cc.
#pragma once

#include <algorithm>

#include "net/cuda/elementwise.h"
#include "net/running.h"

namespace starling::net::cuda {

// One thread for each number.
struct Standardize {
  StandardizeArgs<float> a;
  Divisor width;

  HOST_DEVICE void operator()(long long i) const {
    int row = static_cast<int>(i);
    const int column = width.Split(row);
    const Spread spread = SpreadOf(a.sums + column * kSumsOfNumber);
    const double x = a.from[1ll * row * a.from_row + column];
    a.to[1ll * row * a.to_row + column] = Standard<float>((x - spread.mean) * spread.scale);
  }
};

// Warp i x CHANNELS + c: channel c of picture i.
struct StandardizePictures {
  StandardizePicturesArgs<float> a;
  Divisor channels;

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, const Lanes& lanes) const {
    int row = static_cast<int>(i);
    const int channel = channels.Split(row);
    const float* const from = a.from + 1ll * row * a.from_row + channel;
    float* const to = a.to + 1ll * row * a.to_row + channel;
    double sum = 0, squares = 0;
    for (int cell = lanes.index(); cell < a.cells; cell += lanes.count()) {
      const double x = from[cell * a.channels];
      sum += x;
      squares += x * x;
    }
    sum = lanes.Sum(sum);
    squares = lanes.Sum(squares);
    const Spread spread = SpreadOf(a.cells, sum, squares);
    for (int cell = lanes.index(); cell < a.cells; cell += lanes.count()) {
      const double x = from[cell * a.channels];
      to[cell * a.channels] = Standard<float>((x - spread.mean) * spread.scale);
    }
  }
};

// Warp g x WIDTH + j of groups x WIDTH: the part g of the sums of column j.
struct MomentParts {
  SumMomentsArgs<float> a;
  Divisor width;
  int groups;
  double* parts;  // (groups, WIDTH, 2)

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, const Lanes& lanes) const {
    int group = static_cast<int>(i);
    const int column = width.Split(group);
    double sum = 0, squares = 0;
    for (long long row = 1ll * group * lanes.count() + lanes.index(); row < a.n;
         row += 1ll * groups * lanes.count()) {
      const double x = a.x[row * a.row + column];
      sum += x;
      squares += x * x;
    }
    sum = lanes.Sum(sum);
    squares = lanes.Sum(squares);
    if (lanes.index() != 0) return;
    parts[2 * i] = sum;
    parts[2 * i + 1] = squares;
  }
};

// One thread for each column.
struct FinishSums {
  SumMomentsArgs<float> a;
  int groups;
  const double* parts;

  HOST_DEVICE void operator()(long long column) const {
    double sum = 0, squares = 0;
    for (long long g = 0; g < groups; ++g) {
      sum += parts[2 * (g * a.width + column)];
      squares += parts[2 * (g * a.width + column) + 1];
    }
    PutMoments(a, column, sum, squares);
  }
};

template <class Device>
void SumMoments(Work<Device>& work, const SumMomentsArgs<float>& args) {
  constexpr int kOfAWarp = 256, kGroups = 64;
  const int groups = std::clamp(args.n / kOfAWarp, 1, kGroups);
  double* const parts = work.template Sums<double>(2ll * groups * args.width);
  work.device().ForEachWarp(1ll * groups * args.width,
                            MomentParts{args, Divisor(args.width), groups, parts});
  work.device().ForEach(args.width, FinishSums{args, groups, parts});
}

struct ScaleRewards {
  ScaleRewardsArgs<float> a;

  HOST_DEVICE void operator()(long long i) const { ScaleReward(a, i); }
};

}  // namespace starling::net::cuda
