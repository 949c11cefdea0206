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
        input_weight_(context.Add(".input_weight", {from_input_.in, 4 * width})),
        hidden_weight_(context.Add(".hidden_weight", {width, 4 * width})),
        bias_(context.Add(".bias", {4 * width})),
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

  // Writes dgates of the step. dh_ and dc_ of its envs are on entry the gradients of this step's h
  // and c, zero if no step follows; on return, of its h_in and c_in.
  void BackwardStep(const T* p, const Step& step, bool last) override {
    const std::span<T> dh = EnvsOf(dh_, step), dc = EnvsOf(dc_, step);
    if (last) {
      Clear(this->backend_.memory(), dh);
      Clear(this->backend_.memory(), dc);
    }
    // 1. From the outputs of the cell to its gates.
    T* const dgates = dgates_.data() + At(4 * step.row);
    this->backend_.LstmCellBackward({.hidden = width_,
                                     .n = step.envs,
                                     .gates = gates_.data() + At(4 * step.row),
                                     .c_in = c_in_.data() + At(step.row),
                                     .c = c_.data() + At(step.row),
                                     .dy = this->output_gradient(step.row),
                                     .dh = dh.data(),
                                     .dc = dc.data(),
                                     .dgates = dgates});
    // 2. On to the step before, unless an episode begins here. The carried state is a constant.
    if (step.before < 0) return;
    this->backend_.LinearBackwardInput({.shape = recurrent_,
                                        .n = step.envs,
                                        .w = p + hidden_weight_,
                                        .dy = dgates,
                                        .dx = dh.data()});
    this->backend_.KeepState(width_, step.envs, step.resets, dh.data(), dh.data());
    this->backend_.KeepState(width_, step.envs, step.resets, dc.data(), dc.data());
  }

  void BackwardInput(const T* p, int row, int n, const T* x, T* dx) override {
    this->backend_.LinearBackwardInput({.shape = from_input_,
                                        .n = n,
                                        .w = p + input_weight_,
                                        .dy = dgates_.data() + At(4 * row),
                                        .relu_output = this->Mask(x),
                                        .dx = dx});
  }

  // One product over all rows gives the gradient of each weight.
  void BackwardWeights(const T* /*p*/, int n, const T* x, T* gradient) override {
    const T* const dgates = dgates_.data();
    this->backend_.LinearBackwardWeights({.shape = from_input_,
                                          .n = n,
                                          .x = x,
                                          .dy = dgates,
                                          .dw = gradient + input_weight_,
                                          .db = gradient + bias_});
    // The two products share a bias, so this call writes the same gradient of it again.
    this->backend_.LinearBackwardWeights({.shape = recurrent_,
                                          .n = n,
                                          .x = h_in_.data(),
                                          .dy = dgates,
                                          .dw = gradient + hidden_weight_,
                                          .db = gradient + bias_});
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

  std::span<T> EnvsOf(Buffer<T>& state, const Step& step) const {
    return state.span().subspan(At(step.first), At(step.envs));
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
