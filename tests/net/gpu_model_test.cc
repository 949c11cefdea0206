// Whole nets on a GPU against the reference, asked for op by op and as recorded graphs.
#include <gtest/gtest.h>

#include "net/model.h"
#include "tests/net/arrays.h"
#include "tests/net/gpu_fixture.h"

namespace starling::net {
namespace {

using testing::GpuTest;
using testing::Here;
using testing::Normals;
using testing::RelativeError;
using testing::Send;
using testing::There;
using Floats = std::vector<float>;

constexpr int kSteps = 3, kEnvs = 4, kRows = kSteps * kEnvs, kActions = 5;

// One of every layer, on a picture.
ModelSpec EveryLayer() {
  return {.kind = NetKind::kLayers,
          .height = 9,
          .width = 8,
          .channels = 3,
          .actions = ActionSpace::Choice(kActions),
          .layers = {"conv 16 3x3", "relu", "max_pool 3x3/2 same", "residual 3x3", "relu",
                     "conv 6 3x2/2 same", "relu", "linear 24", "layer_norm", "relu", "linear 10",
                     "tanh", "lstm 12", "gru 8"},
          .critic = Critic::kSeparate};
}

// The same observed as a picture and 48 numbers, each with layers of its own.
ModelSpec OfTwoEntries() {
  ModelSpec spec = EveryLayer();
  spec.height = spec.width = 1, spec.channels = 9 * 8 * 3;
  spec.entries = {{"picture", 7, 8, 3}, {"numbers", 1, 1, 48}};
  spec.entry_layers = {"picture: conv 8 3x3, relu, residual 3x3", "numbers: linear 8, relu"};
  spec.layers = {"linear 10", "relu", "gru 8"};
  return spec;
}

struct Outputs {
  Floats logits, values, gradient;
  void ExpectNear(const Outputs& expected, double tolerance) const {
    EXPECT_LE(RelativeError(logits, expected.logits), tolerance);
    EXPECT_LE(RelativeError(values, expected.values), tolerance);
    EXPECT_LE(RelativeError(gradient, expected.gradient), tolerance);
  }
  friend bool operator==(const Outputs&, const Outputs&) = default;
};

// A net, its outputs and its gradient on random numbers.
class Learning {
 public:
  explicit Learning(Backend<float>& backend, const ModelSpec& spec = EveryLayer())
      : backend_(backend),
        model_(MakeModel(spec, backend, Batch{.envs = kEnvs, .steps = kSteps})),
        parameters_(There(backend, InitialParameters(model_->layout(), 1))),
        gradient_(model_->layout().size(), backend.memory()),
        dlogits_(kRows * kActions, backend.memory()),
        dvalues_(kRows, backend.memory()) {
    std::vector<std::uint8_t> resets(kRows, 0);
    resets[5] = 1;
    Send(backend, resets, model_->resets());
  }

  // With an id for each step and one for the gradient if `repeated`, as an actor does.
  Outputs Run(std::uint64_t seed, bool repeated) {
    RandomStream random(StreamId{.seed = seed});
    Send(backend_, Normals<float>(random, kRows * 9 * 8 * 3), model_->observations());
    Send(backend_, Normals<float>(random, kRows * kActions), dlogits_.span());
    Send(backend_, Normals<float>(random, kRows), dvalues_.span());
    const auto ask = [&](int id, const std::function<void()>& ops) {
      repeated ? backend_.Repeat(id, ops) : ops();
    };
    for (int step = 0; step < kSteps; ++step) {
      ask(step, [&] { model_->Forward(parameters_.span(), step); });
    }
    ask(kSteps, [&] {
      model_->Backward(parameters_.span(), kSteps, dlogits_.span(), dvalues_.span(),
                       gradient_.span());
    });
    return {Here(backend_, model_->logits()), Here(backend_, model_->values()),
            Here(backend_, gradient_)};
  }

 private:
  Backend<float>& backend_;
  std::unique_ptr<Model<float>> model_;
  Buffer<float> parameters_, gradient_, dlogits_, dvalues_;
};

using GpuModelTest = GpuTest;
INSTANTIATE_TEST_SUITE_P(On, GpuModelTest, ::testing::Bool(), testing::LoopsOrGpu);

TEST_P(GpuModelTest, IsThatOfTheReference) {
  const auto reference = MakeReferenceBackend<float>();
  for (const ModelSpec& spec : {EveryLayer(), OfTwoEntries()}) {
    Learning on_gpu(*backend_, spec), here(*reference, spec);
    on_gpu.Run(1, false).ExpectNear(here.Run(1, false), 1e-5);
  }
}

// New numbers in the same arrays, five times: done, recorded and three times played.
TEST_P(GpuModelTest, WhatIsRepeatedIsWhatIsAskedForAnew) {
  Learning repeated(*backend_, OfTwoEntries()), anew(*backend_, OfTwoEntries());
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(repeated.Run(seed, true), anew.Run(seed, false)) << "round " << seed;
  }
  if (fake_ == nullptr) return;
  EXPECT_EQ(fake_->recordings(), kSteps + 1);
  EXPECT_EQ(fake_->replays(), 4 * (kSteps + 1));
}

// A graph goes on using the scratch that it was recorded with, whatever was larger since.
TEST_P(GpuModelTest, ARecordingOutlivesLargerOps) {
  Learning repeated(*backend_), anew(*backend_);
  for (std::uint64_t seed = 1; seed <= 2; ++seed) repeated.Run(seed, true);
  const ConvShape large{.height = 30, .width = 30, .in_channels = 4, .out_channels = 8};
  constexpr int kSamples = 20;
  Buffer<float> x(static_cast<std::size_t>(kSamples * large.in_size()), backend_->memory());
  Buffer<float> w(static_cast<std::size_t>(large.num_weights()), backend_->memory());
  Buffer<float> b(8, backend_->memory());
  Buffer<float> y(static_cast<std::size_t>(kSamples * large.out_size()), backend_->memory());
  backend_->ConvForward(
      {.shape = large, .n = kSamples, .x = x.data(), .w = w.data(), .b = b.data(), .y = y.data()});
  backend_->ConvBackwardWeights({.shape = large,
                                 .n = kSamples,
                                 .x = x.data(),
                                 .dy = y.data(),
                                 .dw = w.data(),
                                 .db = b.data()});
  EXPECT_EQ(repeated.Run(3, true), anew.Run(3, false));
}

TEST_P(GpuModelTest, EqualInputsGiveEqualBits) {
  EXPECT_EQ(Learning(*backend_).Run(1, false), Learning(*backend_).Run(1, false));
}

}  // namespace
}  // namespace starling::net
