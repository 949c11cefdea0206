// The heads on top of a net: linear layers without an activation.
//
// Thread safety: none.
#pragma once

#include <span>
#include <string>

#include "core/memory.h"
#include "net/layers/layer.h"
#include "net/policy.h"
#include "net/stack.h"

namespace starling::net {

template <class T>
struct Head {
  LinearShape shape;
  WeightAndBias at;
  Head(ParameterLayout& layout, const std::string& name, int in, int out);
  LinearForwardArgs<T> Forward(const T* p, int n, const T* x, T* y) const;
  LinearBackwardWeightsArgs<T> BackwardWeights(int n, const T* x, const T* dy, T* gradient) const;
  LinearBackwardInputArgs<T> BackwardInput(const T* p, int n, const T* dy, T* dx) const;
};

// The policy head: the numbers that net/policy.h reads. The deviations of a box are outputs of the
// linear layer like the means (Deviation::kPredicted), or parameters ("policy.box.log_std"), which
// follow the means in each row. Logits of forbidden values are set to kForbidden; no gradient comes
// back to them.
template <class T>
class PolicyHead {
 public:
  // For `rows` rows of `in` numbers; `backend` must outlive it.
  PolicyHead(const PolicySpec& spec, ParameterLayout& layout, int in, int rows,
             Backend<T>& backend);

  const PolicyShape& shape() const { return shape_; }
  std::span<const T> logits() const { return logits_.span(); }  // (rows, OUTPUTS)

  // Writes the logits of rows [row, row + n) from x (n, in). mask: of these rows, one every
  // `mask_row` numbers; nullptr: all values are allowed.
  void Forward(const T* p, int row, int n, const T* x, const T* mask, int mask_row);
  // From dlogits (n, OUTPUTS): the gradients of its parameters, and of x (n, in).
  void BackwardWeights(int n, const T* x, const T* dlogits, T* gradient);
  void BackwardInput(const T* p, int n, const T* dlogits, const T* relu_output, T* dx);

 private:
  bool own_deviations() const { return log_std_.size > 0; }
  const T* LinearGradient(int n, const T* dlogits);

  Backend<T>& backend_;
  Buffer<std::int32_t> counts_;  // of choices, more than one
  const PolicyShape shape_;
  const Head<T> linear_;
  const Parameter log_std_;           // of size 0 if there is none
  Buffer<T> logits_;                  // (rows, OUTPUTS)
  Buffer<T> means_, means_gradient_;  // (rows, WIDTH) with own deviations
};

}  // namespace starling::net
