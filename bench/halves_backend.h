// The backend of the processor with every linear product split in halves between two threads:
// tensor parallelism, for the comparison with stages and with more actors. Each thread computes one
// half of the columns of a product, then both wait for each other. All other ops run on the
// caller's thread.
//
// Thread safety: as net::Backend.
#pragma once

#include <functional>
#include <memory>

#include "actors/pipeline.h"
#include "net/backend.h"

namespace starling::bench {

class HalvesBackend final : public net::Backend<float> {
 public:
  HalvesBackend() : inner_(net::MakeCpuBackend()), threads_(2, [](int) {}) {}
  const char* name() const override { return "cpu, products in halves"; }

  void LinearForward(const net::LinearForwardArgs<float>& args) override;
  void LinearAccumulate(const net::LinearShape& shape, int n, const float* x, const float* w,
                        float* y) override;
  void LinearBackwardWeights(const net::LinearBackwardWeightsArgs<float>& args) override;
  void LinearBackwardInput(const net::LinearBackwardInputArgs<float>& args) override;

  void ConvForward(const net::ConvForwardArgs<float>& args) override { inner_->ConvForward(args); }
  void ConvBackwardWeights(const net::ConvBackwardWeightsArgs<float>& args) override {
    inner_->ConvBackwardWeights(args);
  }
  void ConvBackwardInput(const net::ConvBackwardInputArgs<float>& args) override {
    inner_->ConvBackwardInput(args);
  }
  void Activate(net::Activation activation, int count, const float* x, float* y) override {
    inner_->Activate(activation, count, x, y);
  }
  void ActivateBackward(const net::ActivateBackwardArgs<float>& args) override {
    inner_->ActivateBackward(args);
  }
  void LayerNormForward(const net::LayerNormForwardArgs<float>& args) override {
    inner_->LayerNormForward(args);
  }
  void LayerNormBackward(const net::LayerNormBackwardArgs<float>& args) override {
    inner_->LayerNormBackward(args);
  }
  void LstmCellForward(const net::LstmCellForwardArgs<float>& args) override {
    inner_->LstmCellForward(args);
  }
  void LstmCellBackward(const net::LstmCellBackwardArgs<float>& args) override {
    inner_->LstmCellBackward(args);
  }
  void GruCellForward(const net::GruCellForwardArgs<float>& args) override {
    inner_->GruCellForward(args);
  }
  void GruCellBackward(const net::GruCellBackwardArgs<float>& args) override {
    inner_->GruCellBackward(args);
  }
  void KeepState(int width, int n, const std::uint8_t* resets, const float* from,
                 float* to) override {
    inner_->KeepState(width, n, resets, from, to);
  }

 private:
  // Calls part(first, count) for both halves of `columns`, side by side.
  void InHalves(int columns, const std::function<void(int first, int count)>& part);

  const std::unique_ptr<net::Backend<float>> inner_;
  actors::Pipeline threads_;
};

}  // namespace starling::bench
