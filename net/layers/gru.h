// A gated recurrent unit (Cho et al. 2014). Backpropagation through time ends at the first step of
// the unroll.
#pragma once

#include "net/layers/layer.h"

namespace starling::net {

// The sums x . input_weight + bias and h_in . hidden_weight + hidden_bias, each of reset gate,
// update gate and memory, as in PyTorch. h_in is h of the previous step, or zero where an episode
// begins.
template <class T>
class Gru final : public Layer<T> {
 public:
  Gru(const LayerContext<T>& context, int width)
      : Layer<T>(context, {.channels = width}),
        width_(width),
        from_input_{context.input.size(), 3 * width},
        recurrent_{width, 3 * width},
        input_weight_(context.Add(".input_weight", {from_input_.in, 3 * width})),
        bias_(context.Add(".bias", {3 * width})),
        hidden_weight_(context.Add(".hidden_weight", {width, 3 * width})),
        hidden_bias_(context.Add(".hidden_bias", {3 * width})),
        gates_(At(3 * context.rows), context.backend.memory()),
        from_h_(At(3 * context.rows), context.backend.memory()),
        dx_sums_(At(3 * context.rows), context.backend.memory()),
        dh_sums_(At(3 * context.rows), context.backend.memory()),
        h_in_(At(context.rows), context.backend.memory()),
        carried_(At(context.envs), context.backend.memory()),
        dh_(At(context.envs), context.backend.memory()),
        through_sums_(At(context.envs), context.backend.memory()) {}

  void Forward(const T* p, const Step& step, const T* x) override {
    T *const gates = gates_.data() + At(3 * step.row), *const h_in = h_in_.data() + At(step.row);
    T* const from_h = from_h_.data() + At(3 * step.row);
    // 1. Take over the state of the previous step. It is copied, because Backward needs it.
    this->backend_.KeepState(
        width_, step.envs, step.resets,
        step.before < 0 ? carried_.data() + At(step.first) : this->output(step.before), h_in);
    // 2. Both sums, then the cell.
    this->backend_.LinearForward({.shape = from_input_,
                                  .n = step.envs,
                                  .x = x,
                                  .w = p + input_weight_,
                                  .b = p + bias_,
                                  .y = gates});
    this->backend_.LinearForward({.shape = recurrent_,
                                  .n = step.envs,
                                  .x = h_in,
                                  .w = p + hidden_weight_,
                                  .b = p + hidden_bias_,
                                  .y = from_h});
    this->backend_.GruCellForward({.hidden = width_,
                                   .n = step.envs,
                                   .gates = gates,
                                   .from_h = from_h,
                                   .h_in = h_in,
                                   .h = this->output(step.row)});
  }

  // Writes the gradients of the sums of the step. dh_ of its envs is on entry the gradient of this
  // step's h, zero if no step follows; on return, of its h_in.
  void BackwardStep(const T* p, const Step& step, bool last) override {
    const std::span<T> dh = dh_.span().subspan(At(step.first), At(step.envs));
    if (last) Clear(this->backend_.memory(), dh);
    T* const dh_sums = dh_sums_.data() + At(3 * step.row);
    this->backend_.GruCellBackward({.hidden = width_,
                                    .n = step.envs,
                                    .gates = gates_.data() + At(3 * step.row),
                                    .from_h = from_h_.data() + At(3 * step.row),
                                    .h_in = h_in_.data() + At(step.row),
                                    .dy = this->output_gradient(step.row),
                                    .dh = dh.data(),
                                    .dx_sums = dx_sums_.data() + At(3 * step.row),
                                    .dh_sums = dh_sums});
    // On to the step before, unless an episode begins here. The carried state is a constant.
    if (step.before < 0) return;
    this->backend_.LinearBackwardInput({.shape = recurrent_,
                                        .n = step.envs,
                                        .w = p + hidden_weight_,
                                        .dy = dh_sums,
                                        .dx = through_sums_.data() + At(step.first)});
    this->backend_.Add({.count = step.envs * width_,
                        .a = dh.data(),
                        .b = through_sums_.data() + At(step.first),
                        .y = dh.data()});
    this->backend_.KeepState(width_, step.envs, step.resets, dh.data(), dh.data());
  }

  void BackwardInput(const T* p, int row, int n, const T* x, T* dx) override {
    this->backend_.LinearBackwardInput({.shape = from_input_,
                                        .n = n,
                                        .w = p + input_weight_,
                                        .dy = dx_sums_.data() + At(3 * row),
                                        .relu_output = this->Mask(x),
                                        .dx = dx});
  }

  // One product over all rows gives the gradient of each weight.
  void BackwardWeights(const T* /*p*/, int n, const T* x, T* gradient) override {
    this->backend_.LinearBackwardWeights({.shape = from_input_,
                                          .n = n,
                                          .x = x,
                                          .dy = dx_sums_.data(),
                                          .dw = gradient + input_weight_,
                                          .db = gradient + bias_});
    this->backend_.LinearBackwardWeights({.shape = recurrent_,
                                          .n = n,
                                          .x = h_in_.data(),
                                          .dy = dh_sums_.data(),
                                          .dw = gradient + hidden_weight_,
                                          .db = gradient + hidden_bias_});
  }

  void Carry(int row, int envs) override {
    Copy<T>(this->backend_.memory(), carried_.span(), {this->output(row), At(envs)});
  }

  void AddCarried(std::vector<std::span<T>>& all) override { all.push_back(carried_.span()); }

 private:
  std::size_t At(int rows) const { return std::int64_t{rows} * width_; }

  const int width_;
  const LinearShape from_input_, recurrent_;
  const std::size_t input_weight_, bias_, hidden_weight_, hidden_bias_;
  Buffer<T> gates_, from_h_;     // (rows, 3 width)
  Buffer<T> dx_sums_, dh_sums_;  // (rows, 3 width)
  Buffer<T> h_in_;               // (rows, width); h is the output
  Buffer<T> carried_;            // (envs, width): the state before row 0
  Buffer<T> dh_, through_sums_;  // (envs, width)
};

}  // namespace starling::net
