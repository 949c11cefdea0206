#include "net/model.h"

#include "core/check.h"
#include "net/build_layers.h"
#include "net/layers/layer.h"

namespace starling::net {
namespace {

// The ops of a head: a linear layer without an activation, whose arrays the model owns.
template <class T>
struct Head {
  LinearShape shape;
  WeightAndBias at;
  Head(ParameterLayout& layout, const char* name, int in, int out)
      : shape{in, out}, at(layout, name, {in, out}) {}

  LinearForwardArgs<T> Forward(const T* p, int n, const T* x, T* y) const {
    return {.shape = shape, .n = n, .x = x, .w = p + at.weight, .b = p + at.bias, .y = y};
  }
  LinearBackwardWeightsArgs<T> BackwardWeights(int n, const T* x, const T* dy, T* gradient) const {
    return {shape, n, x, dy, gradient + at.weight, gradient + at.bias};
  }
  LinearBackwardInputArgs<T> BackwardInput(const T* p, int n, const T* dy, T* dx) const {
    return {.shape = shape, .n = n, .w = p + at.weight, .dy = dy, .dx = dx};
  }
};

template <class T>
class ActorCriticNet final : public Model<T> {
 public:
  ActorCriticNet(const ModelSpec& spec, const std::vector<LayerSpec>& specs, Backend<T>& backend,
                 const Batch& batch)
      : backend_(backend),
        num_actions_(spec.num_actions),
        in_size_(spec.height * spec.width * spec.channels),
        batch_(batch),
        observations_(Rows() * in_size_, backend.memory()),
        resets_(Rows(), backend.memory()),
        // The parameters are laid out in this order: the layers bottom up, then the heads.
        layers_(BuildLayers<T>(specs, {.backend = backend,
                                       .layout = layout_,
                                       .name = "",
                                       .input = {spec.height, spec.width, spec.channels},
                                       .rows = Rows(),
                                       .envs = batch.envs})),
        top_(layers_.empty() ? Features{.channels = in_size_} : layers_.back()->features()),
        policy_(layout_, "policy", top_.size(), num_actions_),
        value_(layout_, "value", top_.size(), 1),
        logits_(Rows() * num_actions_, backend.memory()),
        values_(Rows(), backend.memory()) {}

  const ParameterLayout& layout() const override { return layout_; }
  int num_actions() const override { return num_actions_; }
  std::span<T> observations() override { return observations_.span(); }
  std::span<std::uint8_t> resets() override { return resets_.span(); }
  std::span<const T> logits() const override { return logits_.span(); }
  std::span<const T> values() const override { return values_.span(); }

  void Forward(std::span<const T> parameters, int step) override {
    Forward(parameters, {.step = step, .envs = batch_.envs}, step - 1);
  }

  void Forward(std::span<const T> parameters, const Block& block, int before) override {
    const auto [step, first, envs] = block;
    CHECK(step >= 0 && step < batch_.steps && before >= -1 && before < batch_.steps,
          "step {} after {} of {}", step, before, batch_.steps);
    CHECK(first >= 0 && envs >= 1 && first + envs <= batch_.envs, "envs {} + {} of {}", first, envs,
          batch_.envs);
    CHECK(parameters.size() == layout_.size());
    const int row = step * batch_.envs + first;
    const T* const p = parameters.data();
    // 1. The layers, from the observations up.
    const Step rows{.row = row,
                    .envs = envs,
                    .first = first,
                    .before = before < 0 ? -1 : before * batch_.envs + first,
                    .resets = resets_.data() + row};
    for (std::size_t i = 0; i < layers_.size(); ++i) layers_[i]->Forward(p, rows, Input(i, row));
    // 2. Both heads read the output of the last layer.
    const T* const top = Input(layers_.size(), row);
    backend_.LinearForward(policy_.Forward(p, envs, top, logits_.data() + row * num_actions_));
    backend_.LinearForward(value_.Forward(p, envs, top, values_.data() + row));
  }

  void Carry(int step) override {
    CHECK(step >= 0 && step < batch_.steps, "step {} of {}", step, batch_.steps);
    for (const auto& layer : layers_) layer->Carry(step * batch_.envs, batch_.envs);
  }

  std::vector<std::span<T>> carried() override {
    std::vector<std::span<T>> all;
    for (const auto& layer : layers_) layer->AddCarried(all);
    return all;
  }

  void Backward(std::span<const T> parameters, int steps, std::span<const T> dlogits,
                std::span<const T> dvalues, std::span<T> gradient) override {
    CHECK(steps >= 1 && steps <= batch_.steps, "{} steps of {}", steps, batch_.steps);
    CHECK(parameters.size() == layout_.size() && gradient.size() == layout_.size());
    const Steps all{steps, batch_.envs, resets_.data()};
    CHECK(std::ssize(dlogits) == all.rows() * num_actions_);
    CHECK(std::ssize(dvalues) == all.rows());
    ZeroGaps(gradient);
    const T* const p = parameters.data();
    BackwardHeads(p, all.rows(), dlogits.data(), dvalues.data(), gradient.data());
    for (std::size_t i = layers_.size(); i-- > 0;) {
      T* const dx = i == 0 ? nullptr : layers_[i - 1]->output_gradient(0);
      layers_[i]->Backward(p, all, Input(i, 0), gradient.data(), dx);
    }
  }

 private:
  int Rows() const { return batch_.envs * batch_.steps; }

  // The input of layer i from `row` on; i = layers_.size() stands for the heads.
  const T* Input(std::size_t i, int row) {
    if (i == 0) return observations_.data() + row * in_size_;
    return layers_[i - 1]->output(row);
  }

  void ZeroGaps(std::span<T> gradient) const {
    const std::vector<Parameter>& all = layout_.parameters();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t end = i + 1 < all.size() ? all[i + 1].offset : layout_.size();
      const std::size_t begin = all[i].offset + all[i].size;
      if (begin < end) Clear(backend_.memory(), gradient.subspan(begin, end - begin));
    }
  }

  void BackwardHeads(const T* p, int n, const T* dlogits, const T* dvalues, T* gradient) {
    const T* const x = Input(layers_.size(), 0);
    // 1. The parameters of both heads.
    backend_.LinearBackwardWeights(policy_.BackwardWeights(n, x, dlogits, gradient));
    backend_.LinearBackwardWeights(value_.BackwardWeights(n, x, dvalues, gradient));
    if (layers_.empty()) return;
    // 2. The top of the stack: the sum of both heads' gradients, masked once it is complete.
    T* const dx = layers_.back()->output_gradient(0);
    backend_.LinearBackwardInput(policy_.BackwardInput(p, n, dlogits, dx));
    LinearBackwardInputArgs<T> add = value_.BackwardInput(p, n, dvalues, dx);
    add.put = Put::kAdd;
    add.relu_output = top_.relu ? x : nullptr;
    backend_.LinearBackwardInput(add);
  }

  Backend<T>& backend_;
  const int num_actions_, in_size_;
  const Batch batch_;
  ParameterLayout layout_;
  Buffer<T> observations_;
  Buffer<std::uint8_t> resets_;
  const Layers<T> layers_;  // bottom up
  const Features top_;
  const Head<T> policy_, value_;
  Buffer<T> logits_, values_;
};

}  // namespace

template <class T>
std::unique_ptr<Model<T>> MakeModel(const ModelSpec& spec, Backend<T>& backend,
                                    const Batch& batch) {
  CHECK(batch.envs >= 1 && batch.steps >= 1, "{} envs x {} steps", batch.envs, batch.steps);
  const std::vector<LayerSpec> specs = LayersOf(spec);
  CheckFits(spec, specs, batch);
  return std::make_unique<ActorCriticNet<T>>(spec, specs, backend, batch);
}

template std::unique_ptr<Model<float>> MakeModel(const ModelSpec&, Backend<float>&, const Batch&);
template std::unique_ptr<Model<double>> MakeModel(const ModelSpec&, Backend<double>&, const Batch&);

}  // namespace starling::net
