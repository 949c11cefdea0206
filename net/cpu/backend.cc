#include "net/backend.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/error.h"
#include "net/cpu/activation.h"
#include "net/cpu/bfloat16.h"
#include "net/cpu/conv2d_dense.h"
#include "net/cpu/conv2d_direct.h"
#include "net/cpu/conv2d_sparse.h"
#include "net/cpu/layer_norm.h"
#include "net/cpu/linear.h"
#include "net/cpu/linear_bf16.h"
#include "net/cpu/linear_sparse.h"
#include "net/cpu/lstm.h"
#include "net/cpu/one_thread.h"

namespace starling::net {
namespace {

class CpuBackend final : public Backend<float> {
 public:
  explicit CpuBackend(Precision precision) {
    UseOneThread();
    if (precision == Precision::kBf16) bf16_linear_.emplace();
  }
  const char* name() const override { return bf16_linear_ ? "cpu, bf16" : "cpu"; }
  void HoldWeights(bool held) override {
    if (bf16_linear_) bf16_linear_->HoldWeights(held);
  }

  void LinearForward(const LinearShape& shape, int n, const float* x, const float* w,
                     const float* b, Activation activation, float* y) override {
    if (InBf16(shape)) return bf16_linear_->Forward(shape, n, x, w, b, activation, y);
    if (sparse_linear_.Forward(shape, n, x, w, b, activation, y)) return;
    cpu::LinearForward(shape, n, x, w, b, activation, y);
  }
  void LinearAccumulate(const LinearShape& shape, int n, const float* x, const float* w,
                        float* y) override {
    cpu::LinearAccumulate(shape, n, x, w, y);
  }
  void LinearBackwardWeights(const LinearShape& shape, int n, const float* x, const float* dy,
                             float* dw, float* db) override {
    if (InBf16(shape)) return bf16_linear_->BackwardWeights(shape, n, x, dy, dw, db);
    cpu::LinearBackwardWeights(shape, n, x, dy, dw, db);
  }
  void LinearBackwardInput(const LinearShape& shape, int n, const float* w, const float* dy,
                           Put put, const float* relu_output, float* dx) override {
    // Only a value head adds; it is too small to gain from bf16.
    if (InBf16(shape) && put == Put::kReplace) {
      return bf16_linear_->BackwardInput(shape, n, w, dy, relu_output, dx);
    }
    cpu::LinearBackwardInput(shape, n, w, dy, put, relu_output, dx);
  }
  void LinearBackward(const LinearShape& shape, int n, const float* x, const float* w,
                      const float* dy, float* dw, float* db, float* dx) override {
    if (InBf16(shape)) return bf16_linear_->Backward(shape, n, x, w, dy, dw, db, dx);
    if (sparse_linear_.Backward(shape, n, x, w, dy, dw, db, dx)) return;
    Backend::LinearBackward(shape, n, x, w, dy, dw, db, dx);
  }

  void ConvForward(const ConvShape& shape, int n, const float* x, const float* w, const float* b,
                   Activation activation, float* y) override {
    cpu::SparseConv* const sparse = SparseFor(shape);
    if (sparse != nullptr && sparse->Gather(n, x)) return sparse->Forward(x, w, b, activation, y);
    if (cpu::DirectConvForward(shape, n, x, w, b, activation, y)) return;
    dense_.Forward(shape, n, x, w, b, activation, y);
  }
  void ConvBackwardWeights(const ConvShape& shape, int n, const float* x, const float* dy,
                           float* dw, float* db) override {
    cpu::SparseConv* const sparse = SparseFor(shape);
    if (sparse != nullptr && sparse->Gather(n, x)) return sparse->BackwardWeights(x, dy, dw, db);
    if (cpu::DirectConvBackwardWeights(shape, n, x, dy, dw, db)) return;
    dense_.BackwardWeights(shape, n, x, dy, dw, db);
  }
  void ConvBackwardInput(const ConvShape& shape, int n, const float* w, const float* dy,
                         const float* relu_output, float* dx) override {
    dense_.BackwardInput(shape, n, w, dy, relu_output, dx);
  }

  void Activate(Activation activation, int count, const float* x, float* y) override {
    cpu::Activate(activation, count, x, y);
  }
  void ActivateBackward(Activation activation, int count, const float* y, const float* dy,
                        const float* relu_output, float* dx) override {
    cpu::ActivateBackward(activation, count, y, dy, relu_output, dx);
  }
  void LayerNormForward(int width, int n, const float* x, const float* scale, const float* bias,
                        Activation activation, float* moments, float* y) override {
    cpu::LayerNormForward(width, n, x, scale, bias, activation, moments, y);
  }
  void LayerNormBackward(int width, int n, const float* x, const float* scale, const float* moments,
                         const float* dy, const float* relu_output, float* dscale, float* dbias,
                         float* dx) override {
    cpu::LayerNormBackward(width, n, x, scale, moments, dy, relu_output, dscale, dbias, dx);
  }
  void LstmCellForward(int hidden, int n, float* gates, const float* c_in, float* c,
                       float* h) override {
    cpu::LstmCellForward(hidden, n, gates, c_in, c, h);
  }
  void LstmCellBackward(int hidden, int n, const float* gates, const float* c_in, const float* c,
                        const float* dy, const float* dh, float* dc, float* dgates) override {
    cpu::LstmCellBackward(hidden, n, gates, c_in, c, dy, dh, dc, dgates);
  }
  void KeepState(int width, int n, const std::uint8_t* resets, const float* from,
                 float* to) override {
    cpu::KeepState(width, n, resets, from, to);
  }

 private:
  bool InBf16(const LinearShape& shape) const {
    return bf16_linear_ && cpu::Bf16Linear::Suits(shape);
  }

  // Returns nullptr if sparse convolution cannot handle `shape`. A linear search, because a net has
  // only one or two shapes.
  cpu::SparseConv* SparseFor(const ConvShape& shape) {
    if (!cpu::SparseConv::Fits(shape)) return nullptr;
    const auto found = std::find_if(sparse_.begin(), sparse_.end(),
                                    [&](const cpu::SparseConv& s) { return s.shape() == shape; });
    return found != sparse_.end() ? &*found : &sparse_.emplace_back(shape);
  }

  std::optional<cpu::Bf16Linear> bf16_linear_;  // unless the precision is f32
  cpu::SparseLinear sparse_linear_;
  cpu::DenseConv dense_;
  std::vector<cpu::SparseConv> sparse_;
};

}  // namespace

std::unique_ptr<Backend<float>> MakeCpuBackend(Precision precision) {
  if (precision == Precision::kTf32) {
    throw UserError(
        "net.precision: \"tf32\" needs a GPU: use \"f32\", or actors.backend = \"cuda\"");
  }
  if (precision == Precision::kBf16 && !cpu::HasBf16Products()) {
    throw UserError(
        "net.precision: this processor has no bf16 products (avx512_bf16 or amx_bf16): use "
        "\"f32\"");
  }
  return std::make_unique<CpuBackend>(precision);
}

}  // namespace starling::net
