#include "net/backend.h"

#include <algorithm>
#include <vector>

#include "net/cpu/conv2d_dense.h"
#include "net/cpu/conv2d_direct.h"
#include "net/cpu/conv2d_sparse.h"
#include "net/cpu/linear.h"
#include "net/cpu/linear_sparse.h"
#include "net/cpu/one_thread.h"

namespace starling::net {
namespace {

class CpuBackend final : public Backend<float> {
 public:
  CpuBackend() { UseOneThread(); }
  const char* name() const override { return "cpu"; }

  void LinearForward(const LinearShape& shape, int n, const float* x, const float* w,
                     const float* b, Activation activation, float* y) override {
    if (sparse_linear_.Forward(shape, n, x, w, b, activation, y)) return;
    cpu::LinearForward(shape, n, x, w, b, activation, y);
  }
  void LinearBackwardWeights(const LinearShape& shape, int n, const float* x, const float* dy,
                             float* dw, float* db) override {
    cpu::LinearBackwardWeights(shape, n, x, dy, dw, db);
  }
  void LinearBackwardInput(const LinearShape& shape, int n, const float* w, const float* dy,
                           Put put, const float* relu_output, float* dx) override {
    cpu::LinearBackwardInput(shape, n, w, dy, put, relu_output, dx);
  }
  void LinearBackward(const LinearShape& shape, int n, const float* x, const float* w,
                      const float* dy, float* dw, float* db, float* dx) override {
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

 private:
  // Nothing for a shape that only the dense way can do. A net has one or two shapes, so a search is
  // as good as a map.
  cpu::SparseConv* SparseFor(const ConvShape& shape) {
    if (!cpu::SparseConv::Fits(shape)) return nullptr;
    const auto found = std::find_if(sparse_.begin(), sparse_.end(),
                                    [&](const cpu::SparseConv& s) { return s.shape() == shape; });
    return found != sparse_.end() ? &*found : &sparse_.emplace_back(shape);
  }

  cpu::SparseLinear sparse_linear_;
  cpu::DenseConv dense_;
  std::vector<cpu::SparseConv> sparse_;
};

}  // namespace

std::unique_ptr<Backend<float>> MakeCpuBackend() { return std::make_unique<CpuBackend>(); }

}  // namespace starling::net
