// The first layer of a net that observes several arrays (ObservationEntry): each goes through
// layers of its own, or passes as it is; the results stand one after the other.
#pragma once

#include <memory>
#include <utility>

#include "core/check.h"
#include "net/layers/layer.h"

namespace starling::net {

template <class T>
class Entries final : public Layer<T> {
 public:
  // One entry: its columns of an observation, and of the output.
  struct Entry {
    int from = 0, to = 0;
    Features input;
    std::vector<std::unique_ptr<Layer<T>>> layers;  // bottom up, none recurrent; may be empty
  };

  Entries(const LayerContext<T>& context, std::vector<Entry> entries, int width)
      : Layer<T>(context, {.channels = width}), entries_(std::move(entries)) {
    for (const Entry& entry : entries_) {
      const std::size_t size = entry.layers.empty() ? 0 : entry.input.size();
      inputs_.emplace_back(std::size_t(context.rows) * size, context.backend.memory());
    }
  }

  void Forward(const T* p, const Step& step, const T* x) override {
    const int n = step.envs;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[i];
      const Features top = TopOf(entry);
      const T* result = x + entry.from;
      int row = this->input_.size();
      if (!entry.layers.empty()) {
        // Its layers take and give rows of their own.
        Copy(n, entry.input.size(), result, row, Input(i, step.row), entry.input.size());
        for (std::size_t k = 0; k < entry.layers.size(); ++k) {
          entry.layers[k]->Forward(p, step, Below(i, k, step.row));
        }
        result = Below(i, entry.layers.size(), step.row);
        row = top.size();
      }
      Copy(n, top.size(), result, row, this->output(step.row) + entry.to, this->features().size());
    }
  }

  // REQUIRES: this is never called. Observations need no gradient.
  void BackwardInput(const T*, int, int, const T*, T*) override { CHECK(false, "a first layer"); }

  void BackwardWeights(const T* p, int n, const T* /*x*/, T* gradient) override {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!entries_[i].layers.empty()) BackwardEntry(i, p, n, gradient);
    }
  }

 private:
  static Features TopOf(const Entry& entry) {
    return entry.layers.empty() ? entry.input : entry.layers.back()->features();
  }
  T* Input(std::size_t i, int row) {
    return inputs_[i].data() + std::int64_t{row} * entries_[i].input.size();
  }
  // The input of layer k of entry i; behind the last layer, its result.
  const T* Below(std::size_t i, std::size_t k, int row) {
    return k == 0 ? Input(i, row) : entries_[i].layers[k - 1]->output(row);
  }
  void Copy(int n, int width, const T* from, int from_row, T* to, int to_row) {
    this->backend_.CopyColumns(
        {.n = n, .width = width, .from = from, .from_row = from_row, .to = to, .to_row = to_row});
  }

  void BackwardEntry(std::size_t i, const T* p, int n, T* gradient) {
    auto& layers = entries_[i].layers;
    // 1. The gradient of its result; before its relu, if it ends in one.
    const Features& top = layers.back()->features();
    T* const dy = layers.back()->output_gradient(0);
    Copy(n, top.size(), this->output_gradient(0) + entries_[i].to, this->features().size(), dy,
         top.size());
    if (top.relu) {
      this->backend_.ActivateBackward({.activation = Activation::kRelu,
                                       .count = n * top.size(),
                                       .y = layers.back()->output(0),
                                       .dy = dy,
                                       .dx = dy});
    }
    // 2. Its layers, from the top down.
    for (std::size_t k = layers.size(); k-- > 0;) {
      layers[k]->BackwardStep(p, {.envs = n}, true);
      T* const dx = k == 0 ? nullptr : layers[k - 1]->output_gradient(0);
      layers[k]->Backward(p, n, Below(i, k, 0), gradient, dx);
    }
  }

  std::vector<Entry> entries_;
  std::vector<Buffer<T>> inputs_;  // (rows, in) of each entry; empty without layers
};

}  // namespace starling::net
