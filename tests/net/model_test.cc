#include "net/model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/net/model_fixture.h"

namespace starling::net {
namespace {

using testing::Between;
using testing::Cells;
using testing::Copy;
using testing::Normals;
using testing::Observe;
using testing::ProveGradient;
using testing::RandomParameters;
using testing::RelativeError;

ModelSpec Minatar() { return {NetKind::kMinatar, {128}, 10, 10, 4, ActionSpace::Choice(6)}; }

TEST(ModelTest, GradientOfMinatarNetsAgainstCentralDifferences) {
  RandomStream random(StreamId{.seed = 61});
  for (int trial = 0; trial < 12; ++trial) {
    ModelSpec spec{NetKind::kMinatar,     {Between(random, 1, 4)},
                   Between(random, 3, 5), Between(random, 3, 5),
                   Between(random, 1, 2), ActionSpace::Choice(Between(random, 1, 4))};
    if (trial % 3 == 1) spec.hidden.push_back(3);
    if (trial % 3 == 2) spec.hidden.clear();
    ProveGradient(spec, random);
  }
}

TEST(ModelTest, ASeparateCriticIsASecondStack) {
  const auto backend = MakeReferenceBackend<float>();
  ModelSpec spec{NetKind::kMlp, {4}, 1, 1, 3, ActionSpace::Choice(2)};
  spec.critic = Critic::kSeparate;
  const auto model = MakeModel(spec, *backend, {.envs = 2});
  std::vector<std::string> names;
  for (const Parameter& p : model->layout().parameters()) names.push_back(p.name);
  EXPECT_EQ(names, (std::vector<std::string>{"fc1.weight", "fc1.bias", "policy.weight",
                                             "policy.bias", "critic.fc1.weight", "critic.fc1.bias",
                                             "value.weight", "value.bias"}));
  // The value head moves the critic's layers alone, the policy head the actor's.
  RandomStream random(StreamId{.seed = 69});
  const auto parameters = RandomParameters<float>(model->layout(), random);
  Observe(*model, Normals<float>(random, 6));
  model->Forward(parameters, 0);
  const auto moved = [&](float dlogit, float dvalue) {
    std::vector<float> gradient(parameters.size());
    model->Backward(parameters, 1, std::vector<float>(4, dlogit), std::vector<float>(2, dvalue),
                    gradient);
    std::vector<std::string> found;
    for (const Parameter& p : model->layout().parameters()) {
      const auto own = std::span(gradient).subspan(p.offset, p.size);
      if (std::ranges::any_of(own, [](float g) { return g != 0; })) found.push_back(p.name);
    }
    return found;
  };
  EXPECT_EQ(moved(1, 0), std::vector(names.begin(), names.begin() + 4));
  EXPECT_EQ(moved(0, 1), std::vector(names.begin() + 4, names.end()));
}

// Layers "..." over a picture or a row of numbers.
ModelSpec Stack(std::vector<std::string> layers, int height, int width, int channels) {
  ModelSpec spec{NetKind::kLayers, {}, height, width, channels, ActionSpace::Choice(3)};
  spec.layers = std::move(layers);
  return spec;
}

TEST(ModelTest, GradientOfAnyStackAgainstCentralDifferences) {
  // Over few features the norm bends so much that the difference quotient is that far off.
  constexpr double kBent = 1e-6;
  RandomStream random(StreamId{.seed = 66});
  const std::vector<std::vector<std::string>> flat = {
      {},
      {"relu"},
      {"tanh", "linear 3"},
      {"linear 5", "layer_norm", "relu", "linear 4", "tanh"},
      {"layer_norm", "tanh", "relu", "linear 3", "layer_norm"},
      {"lstm 3"},
      {"linear 4", "relu", "lstm 3"},
      {"lstm 2", "relu", "lstm 4", "tanh", "linear 3", "relu"},
      {"layer_norm", "relu", "layer_norm", "lstm 5", "layer_norm"},
      {"gru 3"},
      {"linear 4", "relu", "gru 3"},
      {"gru 2", "relu", "lstm 4", "tanh", "gru 3", "relu"},
      {"residual 1x1", "relu", "conv 2 1x1 same", "residual 1x1", "tanh"},
  };
  for (const auto& layers : flat) {
    for (int trial = 0; trial < 4; ++trial) {
      SCOPED_TRACE(::testing::PrintToString(layers));
      ProveGradient(Stack(layers, 1, 1, Between(random, 4, 6)), random, kBent);
      ProveGradient(Stack(layers, 3, 1, Between(random, 2, 3)), random, kBent);
      ModelSpec two = Stack(layers, 2, 1, 2);
      two.critic = Critic::kSeparate;
      ProveGradient(two, random, kBent);
    }
  }
  const std::vector<std::vector<std::string>> pictures = {
      {"conv 2 2x3", "layer_norm", "relu", "conv 3 2x1/2", "relu", "lstm 2"},
      {"relu", "conv 2 2x2", "tanh", "conv 1 1x1", "linear 3", "relu"},
      {"conv 2 3x3 same", "max_pool 3x3/2 same", "residual 3x3", "residual 1x3", "relu",
       "linear 3"},
      {"residual 3x2", "conv 3 2x3/2 same", "relu", "max_pool 2x2", "relu", "residual 3x3", "relu"},
      {"relu", "residual 3x3", "max_pool 1x2/3 same", "layer_norm", "conv 2 3x3 same", "tanh"},
      {"relu", "max_pool 2x2", "gru 3"},
  };
  for (const auto& layers : pictures) ProveGradient(Stack(layers, 5, 5, 2), random, kBent);
}

// The end of an episode resets the memory: observations before it change nothing behind it.
TEST(ModelTest, AnEndForgets) {
  RandomStream random(StreamId{.seed = 67});
  const auto backend = MakeCpuBackend();
  for (const char* layer : {"lstm 16", "gru 16"}) {
    const auto model = MakeModel(Stack({layer}, 1, 1, 4), *backend, {.envs = 2, .steps = 3});
    const auto parameters = RandomParameters<float>(model->layout(), random);
    const auto play = [&](bool reset) {
      for (float& cell : model->observations().first(2 * 4)) cell = random.Normal();  // of step 0
      std::ranges::fill(model->observations().subspan(2 * 4), 0.5f);
      model->resets()[2] = reset;  // env 0, step 1
      for (int t = 0; t < 3; ++t) model->Forward(parameters, t);
      return Copy(model->values());
    };
    const std::vector<float> first = play(true), again = play(true), remembered = play(false);
    EXPECT_EQ(first[2], again[2]);
    EXPECT_EQ(first[4], again[4]);
    EXPECT_NE(first[3], again[3]);  // env 1 remembers
    EXPECT_NE(remembered[2], again[2]);
  }
}

// Two unrolls of two steps equal one of four.
TEST(ModelTest, TheStateIsCarriedFromUnrollToUnroll) {
  RandomStream random(StreamId{.seed = 68});
  const auto backend = MakeCpuBackend();
  ModelSpec spec = Stack({"linear 16", "relu", "lstm 16", "gru 16"}, 1, 1, 3);
  spec.critic = Critic::kSeparate;
  const auto whole = MakeModel(spec, *backend, {.envs = 2, .steps = 4});
  const auto parts = MakeModel(spec, *backend, {.envs = 2, .steps = 3});
  const auto parameters = RandomParameters<float>(whole->layout(), random);
  const auto cells = Normals<float>(random, 4 * 2 * 3);
  Observe(*whole, cells);
  whole->resets()[5] = 1;  // step 2, env 1
  for (int t = 0; t < 4; ++t) whole->Forward(parameters, t);
  std::vector<float> values;
  for (int unroll = 0; unroll < 2; ++unroll) {
    if (unroll > 0) {
      parts->Forward(parameters, {.step = 2, .envs = 2},
                     1);  // a bootstrap on the way changes nothing
      parts->Carry(1);
    }
    std::copy_n(cells.begin() + unroll * 12, 12, parts->observations().begin());
    parts->resets()[1] = unroll == 1;
    for (int t = 0; t < 2; ++t) parts->Forward(parameters, t);
    values.insert(values.end(), parts->values().begin(), parts->values().begin() + 4);
  }
  EXPECT_EQ(values, Copy(whole->values()));
}

// Everything that a training step computes.
template <class T>
struct Pass {
  std::vector<T> logits, values, gradient;
};

struct Inputs {
  ModelSpec spec;
  std::vector<float> parameters, observations, dlogits, dvalues;

  Inputs(const ModelSpec& model_spec, int rows, double density, RandomStream& random)
      : spec(model_spec) {
    const auto backend = MakeReferenceBackend<float>();
    parameters = RandomParameters<float>(MakeModel(spec, *backend, {})->layout(), random);
    observations = Cells<float>(random, rows * spec.height * spec.width * spec.channels, density);
    dlogits = Normals<float>(random, rows * spec.actions.values());
    dvalues = Normals<float>(random, rows);
  }
  // `envs` samples a step.
  template <class T>
  Pass<T> Run(Backend<T>& backend, int envs) const {
    const auto as = [](const std::vector<float>& values) {
      return std::vector<T>(values.begin(), values.end());
    };
    const int steps = static_cast<int>(dvalues.size()) / envs;
    const auto model = MakeModel(spec, backend, {envs, steps});
    const std::vector<T> p = as(parameters);
    Observe(*model, as(observations));
    for (int t = 0; t < steps; ++t) model->Forward(p, t);
    std::vector<T> gradient(p.size(), T(NAN));
    model->Backward(p, steps, as(dlogits), as(dvalues), gradient);
    return {Copy(model->logits()), Copy(model->values()), gradient};
  }
};

// Relative to the largest logit, value and gradient of each parameter.
constexpr double kNetTolerance = 1e-5;

void ExpectNear(const Inputs& in, const Pass<float>& fast, const Pass<double>& exact) {
  EXPECT_LT(RelativeError(fast.logits, exact.logits), kNetTolerance);
  EXPECT_LT(RelativeError(fast.values, exact.values), kNetTolerance);
  const auto backend = MakeReferenceBackend<float>();
  const auto model = MakeModel(in.spec, *backend, {});
  for (const Parameter& p : model->layout().parameters()) {
    EXPECT_LT(RelativeError(std::span(fast.gradient).subspan(p.offset, p.size),
                            std::span(exact.gradient).subspan(p.offset, p.size)),
              kNetTolerance)
        << p.name;
  }
}

// All kinds of nets, on sparse and dense observations.
TEST(ModelTest, CpuAgainstReference) {
  RandomStream random(StreamId{.seed = 63});
  const auto cpu = MakeCpuBackend();
  const auto reference = MakeReferenceBackend<double>();
  for (const double density : {0.1, 0.6}) {
    for (const ModelSpec& spec :
         {Minatar(), ModelSpec{NetKind::kMinatar, {40, 24}, 7, 9, 3, ActionSpace::Choice(5)},
          ModelSpec{NetKind::kAtari, {32}, 44, 36, 2, ActionSpace::Choice(3)},
          ModelSpec{NetKind::kNature, {48}, 44, 36, 2, ActionSpace::Choice(3)},
          ModelSpec{NetKind::kMlp, {64, 32}, 1, 10, 5, ActionSpace::Choice(3)},
          ModelSpec{NetKind::kMlp, {}, 4, 4, 2, ActionSpace::Choice(4)},
          ModelSpec{NetKind::kAtariLstm, {32}, 44, 36, 2, ActionSpace::Choice(3)},
          Stack({"linear 48", "layer_norm", "relu", "lstm 32", "tanh"}, 1, 10, 5),
          Stack({"conv 16 3x3", "relu", "layer_norm", "lstm 17"}, 8, 7, 3),
          Stack({"linear 48", "relu", "gru 32", "gru 9"}, 1, 10, 5),
          // Small: of many relus, one would be at its bend, where rounding decides.
          ModelSpec{NetKind::kImpala, {32}, 10, 9, 2, ActionSpace::Choice(3)}}) {
      for (const int rows : {1, 15}) {
        SCOPED_TRACE(::testing::Message()
                     << NameOf(spec.kind) << " density " << density << " rows " << rows);
        const Inputs in(spec, rows, density, random);
        const int envs = rows == 1 ? 1 : 3;
        ExpectNear(in, in.Run(*cpu, envs), in.Run(*reference, envs));
      }
    }
  }
}

TEST(ModelTest, ForwardInStepsIsForwardAtOnce) {
  RandomStream random(StreamId{.seed = 64});
  const Inputs in(Minatar(), 20, 0.1, random);
  const auto reference = MakeReferenceBackend<double>();
  EXPECT_EQ(in.Run(*reference, 4).gradient, in.Run(*reference, 20).gradient);
  // The products of another shape may sum in another order.
  const auto cpu = MakeCpuBackend();
  ExpectNear(in, in.Run(*cpu, 4), in.Run(*reference, 20));
}

TEST(ModelTest, EqualInputsGiveEqualBits) {
  RandomStream random(StreamId{.seed = 65});
  const Inputs in(Minatar(), 160, 0.1, random);
  const auto first_backend = MakeCpuBackend(), second_backend = MakeCpuBackend();
  const Pass<float> first = in.Run(*first_backend, 32);
  for (Backend<float>* backend : {first_backend.get(), second_backend.get()}) {
    const Pass<float> again = in.Run(*backend, 32);
    EXPECT_EQ(again.logits, first.logits);
    EXPECT_EQ(again.values, first.values);
    EXPECT_EQ(again.gradient, first.gradient);
  }
}

TEST(ModelDeathTest, StepsBeyondTheBuffersAbort) {
  const auto backend = MakeReferenceBackend<float>();
  const auto model = MakeModel({NetKind::kMlp, {2}, 1, 1, 3, ActionSpace::Choice(2)}, *backend,
                               {.envs = 2, .steps = 4});
  const std::vector<float> parameters(model->layout().size());
  EXPECT_DEATH(model->Forward(parameters, 4), "step 4 after 3 of 4");
  EXPECT_DEATH(model->Forward(parameters, {.step = 1, .first = 1, .envs = 2}), "envs 1 . 2 of 2");
  EXPECT_DEATH(model->Forward(std::span(parameters).first(5), 0), "parameters.size");
}

}  // namespace
}  // namespace starling::net
