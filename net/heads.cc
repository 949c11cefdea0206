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

bool OwnDeviations(const PolicySpec& spec) {
  return spec.actions.box() && spec.deviation == Deviation::kParameter;
}

std::size_t Elements(int rows, int width) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
}

}  // namespace

std::string PolicyName(const ActionSpace& actions) {
  if (actions.box()) return actions.bounds == ActionBounds::kTanh ? "policy.tanh" : "policy.box";
  if (actions.one_choice()) return "policy";
  std::string name = "policy.";
  for (const std::int32_t count : actions.counts) name += std::to_string(count) + "x";
  name.pop_back();
  return name;
}

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
LinearBackwardInputArgs<T> Head<T>::BackwardInput(const T* p, int n, const T* dy,
                                                  const T* relu_output, T* dx) const {
  return {
      .shape = shape, .n = n, .w = p + at.weight, .dy = dy, .relu_output = relu_output, .dx = dx};
}

template <class T>
Heads<T>::Heads(const std::optional<PolicySpec>& policy, bool value, ParameterLayout& layout,
                int in, int rows, Backend<T>& backend)
    : backend_(backend),
      counts_(policy ? CountsOf(policy->actions, backend.memory())
                     : Buffer<std::int32_t>(0, backend.memory())),
      shape_(policy ? ShapeOf(policy->actions, counts_) : PolicyShape{0, 0}),
      policy_(policy
                  ? std::optional<Head<T>>(std::in_place, layout, PolicyName(policy->actions), in,
                                           OwnDeviations(*policy) ? shape_.width : shape_.outputs)
                  : std::nullopt),
      log_std_(policy && OwnDeviations(*policy)
                   ? layout.Add(PolicyName(policy->actions) + ".log_std", {shape_.width})
                   : Parameter{}),
      value_(value ? std::optional<Head<T>>(std::in_place, layout, "value", in, 1) : std::nullopt),
      logits_(Elements(rows, shape_.outputs), backend.memory()),
      values_(value ? Elements(rows, 1) : 0, backend.memory()),
      means_(own_deviations() ? Elements(rows, shape_.width) : 0, backend.memory()),
      means_gradient_(means_.size(), backend.memory()) {}

template <class T>
void Heads<T>::Forward(const T* p, int row, int n, const T* x, const T* mask, int mask_row) {
  // 1. The linear layers.
  T* const logits = logits_.data() + std::int64_t{row} * shape_.outputs;
  T* const outputs = own_deviations() ? means_.data() + std::int64_t{row} * shape_.width : logits;
  T* const values = value_ ? values_.data() + row : nullptr;
  if (policy_ && value_) {
    backend_.PairForward(policy_->Forward(p, n, x, outputs), value_->Forward(p, n, x, values));
  } else if (policy_) {
    backend_.LinearForward(policy_->Forward(p, n, x, outputs));
  } else if (value_) {
    backend_.LinearForward(value_->Forward(p, n, x, values));
  }
  // 2. What else belongs to the logits.
  if (own_deviations()) AddDeviations(p, row, n);
  if (mask == nullptr) return;
  backend_.MaskLogits(
      {.n = n, .width = shape_.outputs, .mask = mask, .row = mask_row, .logits = logits});
}

template <class T>
void Heads<T>::BackwardWeights(int n, const T* x, const T* dlogits, const T* dvalues, T* gradient) {
  const T* const dy = LinearGradient(n, dlogits);
  if (policy_ && value_) {
    backend_.PairBackwardWeights(policy_->BackwardWeights(n, x, dy, gradient),
                                 value_->BackwardWeights(n, x, dvalues, gradient));
  } else if (policy_) {
    backend_.LinearBackwardWeights(policy_->BackwardWeights(n, x, dy, gradient));
  } else if (value_) {
    backend_.LinearBackwardWeights(value_->BackwardWeights(n, x, dvalues, gradient));
  }
  if (!own_deviations()) return;
  backend_.SumRows({.n = n,
                    .width = shape_.width,
                    .x = dlogits + shape_.width,
                    .row = shape_.outputs,
                    .sum = gradient + log_std_.offset});
}

template <class T>
void Heads<T>::BackwardInput(const T* p, int n, const T* dlogits, const T* dvalues,
                             const T* relu_output, T* dx) {
  const T* const dy = LinearGradient(n, dlogits);
  if (policy_ && value_) {
    backend_.PairBackwardInput(policy_->BackwardInput(p, n, dy, relu_output, dx),
                               value_->BackwardInput(p, n, dvalues, relu_output, dx));
  } else if (policy_) {
    backend_.LinearBackwardInput(policy_->BackwardInput(p, n, dy, relu_output, dx));
  } else if (value_) {
    backend_.LinearBackwardInput(value_->BackwardInput(p, n, dvalues, relu_output, dx));
  }
}

// Makes logits of the means and of the parameters, which every row repeats.
template <class T>
void Heads<T>::AddDeviations(const T* p, int row, int n) {
  const int outputs = shape_.outputs, width = shape_.width;
  T* const logits = logits_.data() + std::int64_t{row} * outputs;
  CopyColumnsArgs<T> columns{.n = n,
                             .width = width,
                             .from = means_.data() + std::int64_t{row} * width,
                             .from_row = width,
                             .to = logits,
                             .to_row = outputs};
  backend_.CopyColumns(columns);
  columns.from = p + log_std_.offset;
  columns.from_row = 0;
  columns.to = logits + width;
  backend_.CopyColumns(columns);
}

// The gradient of the policy's linear layer's outputs.
template <class T>
const T* Heads<T>::LinearGradient(int n, const T* dlogits) {
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
template class Heads<float>;
template class Heads<double>;

}  // namespace starling::net
