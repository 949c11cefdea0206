// Convolutions on a GPU: direct ones, or products with patches for as many samples at a time as fit
// in scratch memory.
#pragma once

#include <fmt/format.h>

#include <limits>

#include "core/error.h"
#include "net/cuda/direct.h"
#include "net/cuda/patches.h"
#include "net/cuda/work.h"

namespace starling::net::cuda {

template <class Device>
class Convolution {
 public:
  explicit Convolution(Work<Device>& work) : work_(work) {}

  void Forward(const ConvForwardArgs<float>& args) {
    const ConvShape& s = args.shape;
    const bool aligned = Aligned({args.w, args.b, args.y});
    if (Direct(s, 16) && aligned) return Directly<16>(args);
    if (Direct(s, 32) && aligned) return Directly<32>(args);
    ForEachPart(s, args.n, [&](int first, int samples) {
      device().Multiply({.rows = samples * s.out_cells(),
                         .depth = s.patch(),
                         .columns = s.out_channels,
                         .a = PatchesOf(s, samples, args.x + At(first, s.in_size())),
                         .b = args.w,
                         .c = args.y + At(first, s.out_size())});
    });
    work_.AddBias(At(args.n, s.out_cells()), s.out_channels, args.b, args.activation, args.y);
  }

  void BackwardWeights(const ConvBackwardWeightsArgs<float>& args) {
    const ConvShape& s = args.shape;
    const bool aligned = Aligned({args.dy});
    if (Direct(s, 16) && aligned) return DirectlyBackwardWeights<16>(args);
    if (Direct(s, 32) && aligned) return DirectlyBackwardWeights<32>(args);
    ForEachPart(s, args.n, [&](int first, int samples) {
      work_.MultiplyOverRows({.rows = s.patch(),
                              .depth = samples * s.out_cells(),
                              .columns = s.out_channels,
                              .a = PatchesOf(s, samples, args.x + At(first, s.in_size())),
                              .a_transposed = true,
                              .b = args.dy + At(first, s.out_size()),
                              .put = first == 0 ? Put::kReplace : Put::kAdd,
                              .c = args.dw});
    });
    work_.SumColumns(args.n * s.out_cells(), s.out_channels, args.dy, args.db);
  }

  void BackwardInput(const ConvBackwardInputArgs<float>& args) {
    const ConvShape& s = args.shape;
    ForEachPart(s, args.n, [&](int first, int samples) {
      float* const patches = RoomForPatches(s, samples);
      device().Multiply({.rows = samples * s.out_cells(),
                         .depth = s.out_channels,
                         .columns = s.patch(),
                         .a = args.dy + At(first, s.out_size()),
                         .b = args.w,
                         .b_transposed = true,
                         .c = patches});
      const long long at = At(first, s.in_size());
      const float* const mask = args.relu_output == nullptr ? nullptr : args.relu_output + at;
      const bool fours = s.in_channels % 4 == 0 && Aligned({args.dx});
      work_.template ForEachNumber<GatherPatches>(At(samples, s.in_size()), fours, s,
                                                  ConvDivisors(s), patches, mask, args.dx + at);
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
  void Directly(const ConvForwardArgs<float>& args) {
    constexpr int kMost = 64 / kOut;  // 64 sums fit in registers
    const int cells = args.n * args.shape.out_cells();
    if (cells / kMost >= work_.limits().threads) {
      Directly<kOut, kMost>(args, cells);
    } else {
      Directly<kOut, 1>(args, cells);
    }
  }
  template <int kOut, int kCells>
  void Directly(const ConvForwardArgs<float>& args, int cells) {
    const ConvShape& s = args.shape;
    const auto queue = [&]<class Body>(const Body& body) {
      device().ForEach(Body::Threads(cells), body);
    };
    if (s.in_channels % 4 == 0 && Aligned({args.x})) {
      queue(DirectConv<kOut, 4, kCells>{args, ConvDivisors(s), cells});
    } else {
      queue(DirectConv<kOut, 1, kCells>{args, ConvDivisors(s), cells});
    }
  }

  template <int kOut>
  void DirectlyBackwardWeights(const ConvBackwardWeightsArgs<float>& args) {
    const ConvShape& s = args.shape;
    const int inputs = s.patch() + 1, cells = args.n * s.out_cells();
    const SumTarget target{.arrays = {{args.dw, s.num_weights()}, {args.db, kOut}}};
    work_.SumInChunks(cells, inputs, kOut, target, [&](int chunks, float* partial) {
      device().ForEach(1ll * chunks * inputs,
                       DirectWeightGradient<kOut>{.a = args,
                                                  .by = ConvDivisors(s),
                                                  .inputs = Divisor(inputs),
                                                  .cells = (cells + chunks - 1) / chunks,
                                                  .all_cells = cells,
                                                  .partial = partial});
    });
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
