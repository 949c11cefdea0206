#include "net/part.h"

#include "core/array_fields.h"
#include "core/check.h"

namespace starling::net {
namespace {

constexpr int kManySamples = 1024;  // an actor's step has fewer, and is short

int MaskNumbers(const PartSpec& spec) {
  return spec.first && spec.policy ? spec.policy->actions.mask() : 0;
}

}  // namespace

template <class T>
Part<T>::Part(const PartSpec& spec, Backend<T>& backend, const Batch& batch, Part* beside)
    : backend_(backend),
      in_size_(spec.input.size()),
      mask_(MaskNumbers(spec)),
      batch_(batch),
      rows_(batch.envs * batch.steps),
      unsplit_(mask_ > 0 ? Size(rows_) * Size(in_size_ + mask_) : 0, backend.memory()),
      own_input_(beside != nullptr ? 0 : Size(rows_) * Size(in_size_), backend.memory()),
      input_gradient_(spec.first ? 0 : own_input_.size(), backend.memory()),
      own_resets_(beside != nullptr ? 0 : Size(rows_), backend.memory()),
      input_(beside != nullptr ? beside->input_ : own_input_.span()),
      resets_(beside != nullptr ? beside->resets_ : own_resets_.span()),
      layers_(BuildLayers<T>(spec.layers, {.backend = backend,
                                           .layout = layout_,
                                           .name = spec.prefix,
                                           .input = spec.input,
                                           .rows = rows_,
                                           .envs = batch.envs})),
      top_(layers_.empty() ? Features{.channels = in_size_} : layers_.back()->features()),
      heads_(spec.policy, spec.value, layout_, top_.size(), rows_, backend) {
  CHECK(beside == nullptr || input_.size() == Size(rows_) * Size(in_size_));
}

template <class T>
const T* Part<T>::Input(std::size_t i, int row) {
  if (i == 0) return input_.data() + std::int64_t{row} * in_size_;
  return layers_[i - 1]->output(row);
}

template <class T>
T* Part<T>::InputGradient(std::size_t i, int row) {
  if (i > 0) return layers_[i - 1]->output_gradient(row);
  return input_gradient_.size() == 0 ? nullptr
                                     : input_gradient_.data() + std::int64_t{row} * in_size_;
}

template <class T>
Step Part<T>::StepOf(const Block& block, int before) {
  const auto [step, first, envs] = block;
  CHECK(step >= 0 && step < batch_.steps && before >= -1 && before < batch_.steps,
        "step {} after {} of {}", step, before, batch_.steps);
  CHECK(first >= 0 && envs >= 1 && first + envs <= batch_.envs, "envs {} + {} of {}", first, envs,
        batch_.envs);
  const int row = step * batch_.envs + first;
  return {.row = row,
          .envs = envs,
          .first = first,
          .before = before < 0 ? -1 : before * batch_.envs + first,
          .resets = resets_.data() + row};
}

template <class T>
void Part<T>::Forward(std::span<const T> parameters, int step) {
  Forward(parameters, {.step = step, .envs = batch_.envs}, step - 1);
}

template <class T>
void Part<T>::Forward(std::span<const T> parameters, const Block& block, int before) {
  CHECK(parameters.size() == layout_.size());
  const T* const p = parameters.data();
  // 1. The layers, from the input up.
  const Step step = StepOf(block, before);
  const int row = step.row;
  TakeMasks(row, block.envs);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i]->Forward(p, step, Input(i, row));
    if (block.envs >= kManySamples) backend_.Progress();
  }
  // 2. The heads read the output of the last layer.
  const T* const top = Input(layers_.size(), row);
  heads_.Forward(p, row, block.envs, top, MaskOf(row), in_size_ + mask_);
}

// Separates the input of the layers from the masks behind it.
template <class T>
void Part<T>::TakeMasks(int row, int n) {
  if (mask_ == 0) return;
  backend_.CopyColumns({.n = n,
                        .width = in_size_,
                        .from = unsplit_.data() + std::int64_t{row} * (in_size_ + mask_),
                        .from_row = in_size_ + mask_,
                        .to = own_input_.data() + std::int64_t{row} * in_size_,
                        .to_row = in_size_});
}

template <class T>
const T* Part<T>::MaskOf(int row) const {
  if (mask_ == 0) return nullptr;
  return unsplit_.data() + std::int64_t{row} * (in_size_ + mask_) + in_size_;
}

template <class T>
void Part<T>::Carry(int step) {
  CHECK(step >= 0 && step < batch_.steps, "step {} of {}", step, batch_.steps);
  for (const auto& layer : layers_) layer->Carry(step * batch_.envs, batch_.envs);
}

template <class T>
std::vector<std::span<T>> Part<T>::carried() {
  std::vector<std::span<T>> all;
  for (const auto& layer : layers_) layer->AddCarried(all);
  return all;
}

template <class T>
void Part<T>::CarriedFields(StateBytes& state) {
  for (const std::span<T> array : carried()) {
    state.Same(array.size(), "numbers of the net's memory");
    ArrayFields(state, backend_.memory(), array);
  }
}

template <class T>
void Part<T>::Backward(std::span<const T> parameters, int steps, std::span<const T> dlogits,
                       std::span<const T> dvalues, std::span<T> gradient) {
  CheckGradients(parameters, steps, dlogits, dvalues);
  CHECK(gradient.size() == layout_.size());
  const T* const p = parameters.data();
  const int rows = steps * batch_.envs;
  // 1. The heads, and the gaps between parameters.
  ZeroGaps(gradient);
  heads_.BackwardWeights(rows, Input(layers_.size(), 0), dlogits.data(), dvalues.data(),
                         gradient.data());
  HeadsBackwardInput(p, 0, rows, dlogits.data(), dvalues.data());
  // 2. The layers, from the top down; each goes back in time first.
  for (std::size_t i = layers_.size(); i-- > 0;) {
    for (int t = steps - 1; t >= 0; --t) {
      const Step step = BackStepOf({.step = t, .envs = batch_.envs});
      layers_[i]->BackwardStep(p, step, t == steps - 1);
    }
    layers_[i]->Backward(p, rows, Input(i, 0), gradient.data(), InputGradient(i, 0));
    backend_.Progress();
  }
}

template <class T>
void Part<T>::BackwardInput(std::span<const T> parameters, const Block& block, int steps,
                            std::span<const T> dlogits, std::span<const T> dvalues) {
  CheckGradients(parameters, steps, dlogits, dvalues);
  const T* const p = parameters.data();
  const Step step = BackStepOf(block);
  const int row = step.row, n = step.envs;
  HeadsBackwardInput(p, row, n, dlogits.data() + std::int64_t{row} * policy().outputs,
                     dvalues.data() + (heads_.value() ? row : 0));
  for (std::size_t i = layers_.size(); i-- > 0;) {
    layers_[i]->BackwardStep(p, step, block.step == steps - 1);
    T* const dx = InputGradient(i, row);
    if (dx != nullptr) layers_[i]->BackwardInput(p, row, n, Input(i, row), dx);
  }
}

template <class T>
void Part<T>::BackwardWeights(std::span<const T> parameters, int steps, std::span<const T> dlogits,
                              std::span<const T> dvalues, std::span<T> gradient) {
  CheckGradients(parameters, steps, dlogits, dvalues);
  CHECK(gradient.size() == layout_.size());
  const int rows = steps * batch_.envs;
  ZeroGaps(gradient);
  heads_.BackwardWeights(rows, Input(layers_.size(), 0), dlogits.data(), dvalues.data(),
                         gradient.data());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i]->BackwardWeights(parameters.data(), rows, Input(i, 0), gradient.data());
  }
}

template <class T>
void Part<T>::HeadsBackwardInput(const T* p, int row, int n, const T* dlogits, const T* dvalues) {
  T* const dx = InputGradient(layers_.size(), row);
  if (dx == nullptr) return;
  const T* const relu_output = top_.relu ? Input(layers_.size(), row) : nullptr;
  heads_.BackwardInput(p, n, dlogits, dvalues, relu_output, dx);
}

template <class T>
void Part<T>::CheckGradients(std::span<const T> parameters, int steps, std::span<const T> dlogits,
                             std::span<const T> dvalues) const {
  CHECK(steps >= 1 && steps <= batch_.steps, "{} steps of {}", steps, batch_.steps);
  CHECK(parameters.size() == layout_.size());
  const std::size_t rows = Size(steps) * Size(batch_.envs);
  CHECK(dlogits.size() == rows * Size(policy().outputs));
  CHECK(dvalues.size() == (heads_.value() ? rows : 0));
}

template <class T>
void Part<T>::ZeroGaps(std::span<T> gradient) const {
  const std::vector<Parameter>& all = layout_.parameters();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t end = i + 1 < all.size() ? all[i + 1].offset : layout_.size();
    const std::size_t begin = all[i].offset + all[i].size;
    if (begin < end) Clear(backend_.memory(), gradient.subspan(begin, end - begin));
  }
}

template class Part<float>;
template class Part<double>;

}  // namespace starling::net
