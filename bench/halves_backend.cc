#include "bench/halves_backend.h"

#include <dnnl.h>

#include "core/check.h"
#include "net/cpu/gemm.h"

namespace starling::bench {
namespace {

// `count` columns of c (rows, columns) = a . b, or of c += a . b. Each array begins at the first of
// its own; `a_width`, `b_width` and `c_width` are the lengths of their rows in memory.
struct Columns {
  int rows, depth, count;
  const float* a;
  int a_width;
  bool a_transposed = false;
  const float* b;
  int b_width;
  bool b_transposed = false;
  float* c;
  int c_width;
  bool add = false;
};

void Multiply(const Columns& p) {
  [[maybe_unused]] static thread_local const bool prepared = (net::cpu::PrepareThread(), true);
  const dnnl_status_t status =
      dnnl_sgemm(p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', p.rows, p.count, p.depth,
                 1.0f, p.a, p.a_width, p.b, p.b_width, p.add ? 1.0f : 0.0f, p.c, p.c_width);
  CHECK(status == dnnl_success, "dnnl_sgemm: status {}", static_cast<int>(status));
}

}  // namespace

void HalvesBackend::InHalves(int columns, const std::function<void(int first, int count)>& part) {
  const int half = columns / 2;
  threads_.Wait(threads_.Submit(actors::Way::kEach, [&](int thread) {
    if (thread == 0) part(0, columns - half);
    if (thread == 1 && half > 0) part(columns - half, half);
  }));
}

void HalvesBackend::LinearForward(const net::LinearForwardArgs<float>& args) {
  InHalves(args.shape.out, [&](int first, int count) {
    Multiply({.rows = args.n,
              .depth = args.shape.in,
              .count = count,
              .a = args.x,
              .a_width = args.shape.in,
              .b = args.w + first,
              .b_width = args.shape.out,
              .c = args.y + first,
              .c_width = args.shape.out});
    for (int i = 0; i < args.n; ++i) {
      float* const row = args.y + i * args.shape.out;
      for (int j = first; j < first + count; ++j) {
        row[j] += args.b[j];
        if (args.activation == net::Activation::kRelu && row[j] < 0) row[j] = 0;
      }
    }
  });
}

void HalvesBackend::LinearAccumulate(const net::LinearShape& shape, int n, const float* x,
                                     const float* w, float* y) {
  InHalves(shape.out, [&](int first, int count) {
    Multiply({.rows = n,
              .depth = shape.in,
              .count = count,
              .a = x,
              .a_width = shape.in,
              .b = w + first,
              .b_width = shape.out,
              .c = y + first,
              .c_width = shape.out,
              .add = true});
  });
}

void HalvesBackend::LinearBackwardWeights(const net::LinearBackwardWeightsArgs<float>& args) {
  InHalves(args.shape.out, [&](int first, int count) {
    Multiply({.rows = args.shape.in,
              .depth = args.n,
              .count = count,
              .a = args.x,
              .a_width = args.shape.in,
              .a_transposed = true,
              .b = args.dy + first,
              .b_width = args.shape.out,
              .c = args.dw + first,
              .c_width = args.shape.out});
    for (int j = first; j < first + count; ++j) args.db[j] = 0;
    for (int i = 0; i < args.n; ++i) {
      const float* const row = args.dy + i * args.shape.out;
      for (int j = first; j < first + count; ++j) args.db[j] += row[j];
    }
  });
}

// The columns of dx are the inputs, which are rows of w.
void HalvesBackend::LinearBackwardInput(const net::LinearBackwardInputArgs<float>& args) {
  InHalves(args.shape.in, [&](int first, int count) {
    Multiply({.rows = args.n,
              .depth = args.shape.out,
              .count = count,
              .a = args.dy,
              .a_width = args.shape.out,
              .b = args.w + std::int64_t{first} * args.shape.out,
              .b_width = args.shape.out,
              .b_transposed = true,
              .c = args.dx + first,
              .c_width = args.shape.in,
              .add = args.put == net::Put::kAdd});
    if (args.relu_output == nullptr) return;
    for (int i = 0; i < args.n; ++i) {
      const std::int64_t row = std::int64_t{i} * args.shape.in;
      for (int j = first; j < first + count; ++j) {
        if (!(args.relu_output[row + j] > 0)) args.dx[row + j] = 0;
      }
    }
  });
}

}  // namespace starling::bench
