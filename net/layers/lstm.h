// Long short-term memory (Hochreiter and Schmidhuber 1997; forget gates by Gers et al. 2000).
// Backpropagation through time ends at the first step of the unroll.
#pragma once

#include "net/layers/layer.h"

namespace starling::net {

// gates = x . input_weight + h_in . hidden_weight + bias, in the order input, forget, cell, output.
// h_in and c_in are h and c of the previous step, or zero where an episode begins.
template <class T>
class Lstm final : public Layer<T> {
 public:
  Lstm(const LayerContext<T>& context, int width)
      : Layer<T>(context, {.channels = width}),
        width_(width),
        from_input_{context.input.size(), 4 * width},
        recurrent_{width, 4 * width},
        input_weight_(
            context.layout.Add(context.name + ".input_weight", {from_input_.in, 4 * width}).offset),
        hidden_weight_(
            context.layout.Add(context.name + ".hidden_weight", {width, 4 * width}).offset),
        bias_(context.layout.Add(context.name + ".bias", {4 * width}).offset),
        gates_(At(4 * context.rows), context.backend.memory()),
        dgates_(At(4 * context.rows), context.backend.memory()),
        h_in_(At(context.rows), context.backend.memory()),
        c_in_(At(context.rows), context.backend.memory()),
        c_(At(context.rows), context.backend.memory()),
        carried_h_(At(context.envs), context.backend.memory()),
        carried_c_(At(context.envs), context.backend.memory()),
        dh_(At(context.envs), context.backend.memory()),
        dc_(At(context.envs), context.backend.memory()) {}

  void Forward(const T* p, const Step& step, const T* x) override {
    T *const gates = gates_.data() + At(4 * step.row), *const h_in = h_in_.data() + At(step.row);
    T* const c_in = c_in_.data() + At(step.row);
    // 1. Take over the state of the previous step. It is copied, because Backward needs it.
    const bool carried = step.before < 0;
    this->backend_.KeepState(
        width_, step.envs, step.resets,
        carried ? carried_h_.data() + At(step.first) : this->output(step.before), h_in);
    this->backend_.KeepState(
        width_, step.envs, step.resets,
        carried ? carried_c_.data() + At(step.first) : c_.data() + At(step.before), c_in);
    // 2. Sum the gates, then apply the cell.
    this->backend_.LinearForward({.shape = from_input_,
                                  .n = step.envs,
                                  .x = x,
                                  .w = p + input_weight_,
                                  .b = p + bias_,
                                  .y = gates});
    this->backend_.LinearAccumulate(recurrent_, step.envs, h_in, p + hidden_weight_, gates);
    this->backend_.LstmCellForward({.hidden = width_,
                                    .n = step.envs,
                                    .gates = gates,
                                    .c_in = c_in,
                                    .c = c_.data() + At(step.row),
                                    .h = this->output(step.row)});
  }

  void Backward(const T* p, const Steps& steps, const T* x, T* gradient, T* dx) override {
    // 1. Go back in time. The last step has no successor, so its dh and dc start at zero.
    Clear(this->backend_.memory(), dh_.span());
    Clear(this->backend_.memory(), dc_.span());
    for (int t = steps.count - 1; t >= 0; --t) BackwardStep(p, steps, t);

    // 2. One product over all rows gives the gradient of each weight.
    const int rows = steps.rows();
    const T* const dgates = dgates_.data();
    this->backend_.LinearBackwardWeights({.shape = from_input_,
                                          .n = rows,
                                          .x = x,
                                          .dy = dgates,
                                          .dw = gradient + input_weight_,
                                          .db = gradient + bias_});
    // The two products share a bias, so this call writes the same gradient of it again.
    this->backend_.LinearBackwardWeights({.shape = recurrent_,
                                          .n = rows,
                                          .x = h_in_.data(),
                                          .dy = dgates,
                                          .dw = gradient + hidden_weight_,
                                          .db = gradient + bias_});
    if (dx == nullptr) return;
    this->backend_.LinearBackwardInput({.shape = from_input_,
                                        .n = rows,
                                        .w = p + input_weight_,
                                        .dy = dgates,
                                        .relu_output = this->Mask(x),
                                        .dx = dx});
  }

  void Carry(int row, int envs) override {
    Memory& memory = this->backend_.memory();
    Copy<T>(memory, carried_h_.span(), {this->output(row), At(envs)});
    Copy<T>(memory, carried_c_.span(), {c_.data() + At(row), At(envs)});
  }

  void AddCarried(std::vector<std::span<T>>& all) override {
    all.push_back(carried_h_.span());
    all.push_back(carried_c_.span());
  }

 private:
  std::size_t At(int rows) const { return std::int64_t{rows} * width_; }

  // On entry dh_ and dc_ are the gradients of this step's h and c; on return, of its h_in and c_in.
  void BackwardStep(const T* p, const Steps& steps, int t) {
    const int row = t * steps.envs;
    const std::uint8_t* const resets = steps.resets + row;
    T* const dgates = dgates_.data() + At(4 * row);
    this->backend_.LstmCellBackward({.hidden = width_,
                                     .n = steps.envs,
                                     .gates = gates_.data() + At(4 * row),
                                     .c_in = c_in_.data() + At(row),
                                     .c = c_.data() + At(row),
                                     .dy = this->output_gradient(row),
                                     .dh = dh_.data(),
                                     .dc = dc_.data(),
                                     .dgates = dgates});
    if (t == 0) return;
    this->backend_.LinearBackwardInput({.shape = recurrent_,
                                        .n = steps.envs,
                                        .w = p + hidden_weight_,
                                        .dy = dgates,
                                        .dx = dh_.data()});
    this->backend_.KeepState(width_, steps.envs, resets, dh_.data(), dh_.data());
    this->backend_.KeepState(width_, steps.envs, resets, dc_.data(), dc_.data());
  }

  const int width_;
  const LinearShape from_input_, recurrent_;
  const std::size_t input_weight_, hidden_weight_, bias_;
  Buffer<T> gates_, dgates_;         // (rows, 4 width)
  Buffer<T> h_in_, c_in_, c_;        // (rows, width); h is the output
  Buffer<T> carried_h_, carried_c_;  // (envs, width): the state before row 0
  Buffer<T> dh_, dc_;                // (envs, width)
};

}  // namespace starling::net
