#include "net/layers/layer.h"

namespace starling::net {
namespace {

// gates = x . input_weight + h_in . hidden_weight + bias, in the order input, forget, cell, output.
// h_in and c_in are h and c of the previous step, or zero where an episode begins.
template <class T>
class Lstm final : public Layer<T> {
 public:
  Lstm(const Place<T>& place, int width)
      : Layer<T>(place.backend, {.channels = width}, place.rows),
        width_(width),
        input_{place.input.size(), 4 * width},
        recurrent_{width, 4 * width},
        input_relu_(place.input.relu),
        input_weight_(
            place.layout.Add(place.name + ".input_weight", {input_.in, 4 * width}).offset),
        hidden_weight_(place.layout.Add(place.name + ".hidden_weight", {width, 4 * width}).offset),
        bias_(place.layout.Add(place.name + ".bias", {4 * width}).offset),
        gates_(At(4 * place.rows), place.backend.memory()),
        dgates_(At(4 * place.rows), place.backend.memory()),
        h_in_(At(place.rows), place.backend.memory()),
        c_in_(At(place.rows), place.backend.memory()),
        c_(At(place.rows), place.backend.memory()),
        carried_h_(At(place.envs), place.backend.memory()),
        carried_c_(At(place.envs), place.backend.memory()),
        dh_(At(place.envs), place.backend.memory()),
        dc_(At(place.envs), place.backend.memory()) {}

  void Forward(const T* p, const Step& step, const T* x) override {
    T *const gates = gates_.data() + At(4 * step.row), *const h_in = h_in_.data() + At(step.row);
    T* const c_in = c_in_.data() + At(step.row);
    // 1. Take over the state of the previous step. It is copied, because Backward needs it.
    const bool carried = step.before < 0;
    this->backend_.KeepState(width_, step.envs, step.resets,
                             carried ? carried_h_.data() : this->output(step.before), h_in);
    this->backend_.KeepState(width_, step.envs, step.resets,
                             carried ? carried_c_.data() : c_.data() + At(step.before), c_in);
    // 2. Sum the gates, then apply the cell.
    this->backend_.LinearForward({.shape = input_,
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
    this->backend_.LinearBackwardWeights({.shape = input_,
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
    this->backend_.LinearBackwardInput({.shape = input_,
                                        .n = rows,
                                        .w = p + input_weight_,
                                        .dy = dgates,
                                        .relu_output = input_relu_ ? x : nullptr,
                                        .dx = dx});
  }

  void Carry(int row, int envs) override {
    Memory& memory = this->backend_.memory();
    Copy<T>(memory, carried_h_.span(), {this->output(row), At(envs)});
    Copy<T>(memory, carried_c_.span(), {c_.data() + At(row), At(envs)});
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
  const LinearShape input_, recurrent_;
  const bool input_relu_;
  const std::size_t input_weight_, hidden_weight_, bias_;
  Buffer<T> gates_, dgates_;         // (rows, 4 width)
  Buffer<T> h_in_, c_in_, c_;        // (rows, width); h is the output
  Buffer<T> carried_h_, carried_c_;  // (envs, width): the state before row 0
  Buffer<T> dh_, dc_;                // (envs, width)
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> MakeLstm(const Place<T>& place, int width) {
  return std::make_unique<Lstm<T>>(place, width);
}
template std::unique_ptr<Layer<float>> MakeLstm(const Place<float>&, int);
template std::unique_ptr<Layer<double>> MakeLstm(const Place<double>&, int);

}  // namespace starling::net
