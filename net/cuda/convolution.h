// Convolutions on a GPU: direct ones, or products with patches for as many samples at a time as fit
// in scratch memory.
#pragma once

#include <fmt/format.h>

#include <limits>

#include "core/error.h"
#include "net/cuda/weight_gradient.h"

namespace starling::net::cuda {

template <class Device>
class Convolution {
 public:
  explicit Convolution(Work<Device>& work) : work_(work) {}

  void Forward(const ConvShape& s, int n, const float* x, const float* w, const float* b,
               Activation activation, float* y) {
    if (Direct(s, 16) && Aligned({w, b, y})) return Directly<16>(s, n, x, w, b, activation, y);
    if (Direct(s, 32) && Aligned({w, b, y})) return Directly<32>(s, n, x, w, b, activation, y);
    ForEachPart(s, n, [&](int first, int samples) {
      device().Multiply({.rows = samples * s.out_cells(),
                         .depth = s.patch(),
                         .columns = s.out_channels,
                         .a = PatchesOf(s, samples, x + At(first, s.in_size())),
                         .b = w,
                         .c = y + At(first, s.out_size())});
    });
    work_.AddBias(At(n, s.out_cells()), s.out_channels, b, activation, y);
  }

  void BackwardWeights(const ConvShape& s, int n, const float* x, const float* dy, float* dw,
                       float* db) {
    if (Direct(s, 16) && Aligned({dy})) return WeightGradient<16>(work_, s, n, x, dy, dw, db);
    if (Direct(s, 32) && Aligned({dy})) return WeightGradient<32>(work_, s, n, x, dy, dw, db);
    ForEachPart(s, n, [&](int first, int samples) {
      work_.MultiplyOverRows(samples * s.out_cells(), s.patch(), s.out_channels,
                             PatchesOf(s, samples, x + At(first, s.in_size())),
                             dy + At(first, s.out_size()), first == 0 ? Put::kReplace : Put::kAdd,
                             dw);
    });
    work_.SumColumns(n * s.out_cells(), s.out_channels, dy, db);
  }

  void BackwardInput(const ConvShape& s, int n, const float* w, const float* dy,
                     const float* relu_output, float* dx) {
    ForEachPart(s, n, [&](int first, int samples) {
      float* const patches = RoomForPatches(s, samples);
      device().Multiply({.rows = samples * s.out_cells(),
                         .depth = s.out_channels,
                         .columns = s.patch(),
                         .a = dy + At(first, s.out_size()),
                         .b = w,
                         .b_transposed = true,
                         .c = patches});
      const long long at = At(first, s.in_size());
      const float* const mask = relu_output == nullptr ? nullptr : relu_output + at;
      const bool fours = s.in_channels % 4 == 0 && Aligned({dx});
      work_.template ForEachNumber<GatherPatches>(At(samples, s.in_size()), fours, s,
                                                  ConvDivisors(s), patches, mask, dx + at);
    });
  }

 private:
  // The most weights for which the work of a thread on one cell is short.
  static constexpr int kDirectWeights = 4096;

  Device& device() { return work_.device(); }
  static long long At(long long samples, int size) { return samples * size; }

  bool Direct(const ConvShape& s, int outputs) const {
    return work_.limits().direct && s.out_channels == outputs && s.num_weights() <= kDirectWeights;
  }

  template <int kOut>
  void Directly(const ConvShape& s, int n, const float* x, const float* w, const float* b,
                Activation activation, float* y) {
    const long long cells = At(n, s.out_cells());
    const ConvDivisors by(s);
    if (s.in_channels % 4 == 0 && Aligned({x})) {
      device().ForEach(cells, DirectConv<kOut, 4>{s, by, x, w, b, activation, y});
    } else {
      device().ForEach(cells, DirectConv<kOut, 1>{s, by, x, w, b, activation, y});
    }
  }

  // Calls part(first, samples) for parts of the n samples whose patches fit in scratch memory.
  template <class Part>
  void ForEachPart(const ConvShape& s, int n, Part part) {
    const long long most = std::max(1ll, work_.limits().patches / At(s.out_cells(), s.patch()));
    for (int first = 0; first < n;) {
      const int samples = static_cast<int>(std::min<long long>(most, n - first));
      part(first, samples);
      first += samples;
    }
  }
  float* RoomForPatches(const ConvShape& s, int samples) {
    const long long size = At(samples, s.out_cells()) * s.patch();
    if (size > std::numeric_limits<int>::max()) {
      throw UserError(fmt::format(
          "a convolution of {}x{}x{} by kernels of {}x{} has {} numbers in the patches of one "
          "picture, which is too many for a GPU: make the picture or the kernel smaller, the "
          "stride larger, or set actors.backend = \"cpu\"",
          s.height, s.width, s.in_channels, s.kernel_height, s.kernel_width, size));
    }
    return work_.scratch().template Get<float>(Scratch::kPatches, size);
  }
  float* PatchesOf(const ConvShape& s, int samples, const float* x) {
    float* const patches = RoomForPatches(s, samples);
    const long long size = At(samples, s.out_cells()) * s.patch();
    work_.template ForEachNumber<Patches>(size, s.in_channels % 4 == 0 && Aligned({x}), s,
                                          ConvDivisors(s), x, patches);
    return patches;
  }

  Work<Device>& work_;
};

}  // namespace starling::net::cuda
