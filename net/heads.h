// The heads on top of a net: linear layers of one input, without an activation.
//
// Thread safety: none.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/memory.h"
#include "net/layers/layer.h"
#include "net/policy.h"
#include "net/stack.h"

namespace starling::net {

// The name of the policy head's parameters. It holds the kind of the policy, so that nets of equal
// shapes and other kinds have other fingerprints (ParameterLayout).
std::string PolicyName(const ActionSpace& actions);

template <class T>
struct Head {
  LinearShape shape;
  WeightAndBias at;
  Head(ParameterLayout& layout, const std::string& name, int in, int out);
  LinearForwardArgs<T> Forward(const T* p, int n, const T* x, T* y) const;
  LinearBackwardWeightsArgs<T> BackwardWeights(int n, const T* x, const T* dy, T* gradient) const;
  LinearBackwardInputArgs<T> BackwardInput(const T* p, int n, const T* dy, const T* relu_output,
                                           T* dx) const;
};

// The policy head, the value head, both, or none (net/part.h).
//
// The policy head computes the numbers that net/policy.h reads. The deviations of a box are outputs
// of its linear layer like the means (Deviation::kPredicted), or parameters ("policy.box.log_std"),
// which follow the means in each row. Logits of forbidden values are set to kForbidden; no gradient
// comes back to them.
template <class T>
class Heads {
 public:
  // Without `policy` there is no policy head. For `rows` rows of `in` numbers; `backend` must
  // outlive it.
  Heads(const std::optional<PolicySpec>& policy, bool value, ParameterLayout& layout, int in,
        int rows, Backend<T>& backend);

  const PolicyShape& policy() const { return shape_; }  // {0, 0} without a policy head
  bool value() const { return value_.has_value(); }
  std::span<const T> logits() const { return logits_.span(); }  // (rows, OUTPUTS)
  std::span<const T> values() const { return values_.span(); }  // (rows)

  // Writes the outputs of rows [row, row + n) from x (n, in). mask: of these rows, one every
  // `mask_row` numbers; nullptr: all values are allowed.
  void Forward(const T* p, int row, int n, const T* x, const T* mask, int mask_row);
  // From dlogits (n, OUTPUTS) and dvalues (n): the gradients of the parameters, and of x (n, in),
  // masked by relu_output (net/op_args.h). What belongs to no head is not read.
  void BackwardWeights(int n, const T* x, const T* dlogits, const T* dvalues, T* gradient);
  void BackwardInput(const T* p, int n, const T* dlogits, const T* dvalues, const T* relu_output,
                     T* dx);

 private:
  bool own_deviations() const { return log_std_.size > 0; }
  void AddDeviations(const T* p, int row, int n);
  const T* LinearGradient(int n, const T* dlogits);

  Backend<T>& backend_;
  Buffer<std::int32_t> counts_;  // of choices, more than one
  const PolicyShape shape_;
  const std::optional<Head<T>> policy_;
  const Parameter log_std_;  // of size 0 if there is none
  const std::optional<Head<T>> value_;
  Buffer<T> logits_, values_;
  Buffer<T> means_, means_gradient_;  // (rows, coordinates) with own deviations
};

}  // namespace starling::net
