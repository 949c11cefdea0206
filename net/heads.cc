#include "net/heads.h"

#include <algorithm>
#include <string>

namespace starling::net {
namespace {

Buffer<std::int32_t> CountsOf(const ActionSpace& actions, Memory& memory) {
  if (actions.box() || actions.one_choice()) return Buffer<std::int32_t>(0, memory);
  Buffer<std::int32_t> here(actions.counts.size(), memory.host_side());
  Buffer<std::int32_t> counts(here.size(), memory);
  std::ranges::copy(actions.counts, here.span().begin());
  Write<std::int32_t>(memory, counts.span(), here.span());
  memory.Wait();
  return counts;
}

PolicyShape ShapeOf(const ActionSpace& actions, const Buffer<std::int32_t>& counts) {
  return {.outputs = actions.outputs(),
          .width = actions.width(),
          .counts = counts.size() > 0 ? counts.data() : nullptr,
          .box = actions.box(),
          .tanh = actions.box() && actions.bounds == ActionBounds::kTanh};
}

// The name of the head's parameters holds the kind of the policy. So nets of equal shapes and other
// kinds have other fingerprints (ParameterLayout).
std::string NameOf(const ActionSpace& actions) {
  if (actions.box()) return actions.bounds == ActionBounds::kTanh ? "policy.tanh" : "policy.box";
  if (actions.one_choice()) return "policy";
  std::string name = "policy.";
  for (const std::int32_t count : actions.counts) name += std::to_string(count) + "x";
  name.pop_back();
  return name;
}

bool OwnDeviations(const PolicySpec& spec) {
  return spec.actions.box() && spec.deviation == Deviation::kParameter;
}

std::size_t Elements(int rows, int width) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
}

}  // namespace

template <class T>
Head<T>::Head(ParameterLayout& layout, const std::string& name, int in, int out)
    : shape{in, out}, at(layout, name, {in, out}) {}
template <class T>
LinearForwardArgs<T> Head<T>::Forward(const T* p, int n, const T* x, T* y) const {
  return {.shape = shape, .n = n, .x = x, .w = p + at.weight, .b = p + at.bias, .y = y};
}
template <class T>
LinearBackwardWeightsArgs<T> Head<T>::BackwardWeights(int n, const T* x, const T* dy,
                                                      T* gradient) const {
  return {shape, n, x, dy, gradient + at.weight, gradient + at.bias};
}
template <class T>
LinearBackwardInputArgs<T> Head<T>::BackwardInput(const T* p, int n, const T* dy, T* dx) const {
  return {.shape = shape, .n = n, .w = p + at.weight, .dy = dy, .dx = dx};
}

template <class T>
PolicyHead<T>::PolicyHead(const PolicySpec& spec, ParameterLayout& layout, int in, int rows,
                          Backend<T>& backend)
    : backend_(backend),
      counts_(CountsOf(spec.actions, backend.memory())),
      shape_(ShapeOf(spec.actions, counts_)),
      linear_(layout, NameOf(spec.actions), in,
              OwnDeviations(spec) ? shape_.width : shape_.outputs),
      log_std_(OwnDeviations(spec) ? layout.Add(NameOf(spec.actions) + ".log_std", {shape_.width})
                                   : Parameter{}),
      logits_(Elements(rows, shape_.outputs), backend.memory()),
      means_(own_deviations() ? Elements(rows, shape_.width) : 0, backend.memory()),
      means_gradient_(means_.size(), backend.memory()) {}

template <class T>
void PolicyHead<T>::Forward(const T* p, int row, int n, const T* x, const T* mask, int mask_row) {
  const int outputs = shape_.outputs, width = shape_.width;
  T* const logits = logits_.data() + std::int64_t{row} * outputs;
  if (own_deviations()) {
    T* const means = means_.data() + std::int64_t{row} * width;
    backend_.LinearForward(linear_.Forward(p, n, x, means));
    const CopyColumnsArgs<T> columns{
        .n = n, .width = width, .from = means, .from_row = width, .to = logits, .to_row = outputs};
    backend_.CopyColumns(columns);
    CopyColumnsArgs<T> repeated = columns;
    repeated.from = p + log_std_.offset;
    repeated.from_row = 0;
    repeated.to = logits + width;
    backend_.CopyColumns(repeated);
  } else {
    backend_.LinearForward(linear_.Forward(p, n, x, logits));
  }
  if (mask == nullptr) return;
  backend_.MaskLogits({.n = n, .width = outputs, .mask = mask, .row = mask_row, .logits = logits});
}

template <class T>
void PolicyHead<T>::BackwardWeights(int n, const T* x, const T* dlogits, T* gradient) {
  backend_.LinearBackwardWeights(
      linear_.BackwardWeights(n, x, LinearGradient(n, dlogits), gradient));
  if (!own_deviations()) return;
  const int width = shape_.width;
  backend_.SumRows({.n = n,
                    .width = width,
                    .x = dlogits + width,
                    .row = shape_.outputs,
                    .sum = gradient + log_std_.offset});
}

template <class T>
void PolicyHead<T>::BackwardInput(const T* p, int n, const T* dlogits, const T* relu_output,
                                  T* dx) {
  LinearBackwardInputArgs<T> args = linear_.BackwardInput(p, n, LinearGradient(n, dlogits), dx);
  args.relu_output = relu_output;
  backend_.LinearBackwardInput(args);
}

// The gradient of the linear layer's outputs.
template <class T>
const T* PolicyHead<T>::LinearGradient(int n, const T* dlogits) {
  if (!own_deviations()) return dlogits;
  backend_.CopyColumns({.n = n,
                        .width = shape_.width,
                        .from = dlogits,
                        .from_row = shape_.outputs,
                        .to = means_gradient_.data(),
                        .to_row = shape_.width});
  return means_gradient_.data();
}

template struct Head<float>;
template struct Head<double>;
template class PolicyHead<float>;
template class PolicyHead<double>;

}  // namespace starling::net
