// The policy head on every space of actions: gradients, masks, deviations, names.
#include "net/heads.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/net/model_fixture.h"
#include "tests/support/error_of.h"

namespace starling::net {
namespace {

using testing::Copy;
using testing::Observe;
using testing::ProveGradient;

ActionSpace Masked(ActionSpace actions) {
  actions.masked = true;
  return actions;
}

// Every kind of policy head, on both kinds of critics.
TEST(HeadsTest, GradientOfPolicyHeadsAgainstCentralDifferences) {
  RandomStream random(StreamId{.seed = 67});
  for (const ActionSpace& actions :
       {ActionSpace::Choices({3, 1, 2}), Masked(ActionSpace::Choice(4)),
        Masked(ActionSpace::Choices({2, 3})), ActionSpace::Box({-1, -1, 0}, {1, 2, 9})}) {
    for (const Deviation deviation : {Deviation::kParameter, Deviation::kPredicted}) {
      if (deviation == Deviation::kPredicted && !actions.box()) continue;
      for (const Critic critic : {Critic::kShared, Critic::kSeparate}) {
        for (const char* const top : {"relu", "gru 3"}) {
          ProveGradient({.kind = NetKind::kLayers,
                         .hidden = {},
                         .channels = 4,
                         .actions = actions,
                         .layers = {"linear 3", top},
                         .critic = critic,
                         .deviation = deviation},
                        random);
        }
      }
    }
  }
}

// Observations of two numbers, and behind them which of three values are allowed.
TEST(HeadsTest, TheMaskBehindAnObservationForbids) {
  const auto backend = MakeReferenceBackend<float>();
  ModelSpec spec{.kind = NetKind::kMlp, .hidden = {}, .channels = 2};
  spec.actions = Masked(ActionSpace::Choice(3));
  const auto model = MakeModel(spec, *backend, {.envs = 2});
  Observe<float>(*model, {1, 2, 0, 1, 1,  //
                          3, 4, 1, 0, 0.5f});
  std::vector<float> parameters(model->layout().size());
  const auto weight = model->layout().Find("policy.weight").offset;  // (2, 3)
  parameters[weight] = parameters[weight + 5] = 10;
  model->Forward(parameters, 0);
  EXPECT_EQ(Copy(model->logits()), (std::vector<float>{kForbidden, 0, 20, 30, kForbidden, 40}));
}

// The logs of the deviations follow the means in every row.
TEST(HeadsTest, DeviationsAreParametersOrOutputs) {
  const auto backend = MakeReferenceBackend<float>();
  ModelSpec spec{.kind = NetKind::kMlp, .hidden = {}, .channels = 1};
  spec.actions = ActionSpace::Box({-1, -1}, {1, 1});
  const auto model = MakeModel(spec, *backend, {.envs = 2});
  EXPECT_EQ(model->policy().outputs, 4);
  EXPECT_EQ(model->layout().Find("policy.box.weight").size, 2u);
  std::vector<float> parameters(model->layout().size());
  const auto deviations = model->layout().Find("policy.box.log_std").offset;
  const auto weight = model->layout().Find("policy.box.weight").offset;
  parameters[weight + 1] = 3;
  parameters[deviations] = 0.5f;
  parameters[deviations + 1] = -0.5f;
  Observe<float>(*model, {1, 2});
  model->Forward(parameters, 0);
  EXPECT_EQ(Copy(model->logits()), (std::vector<float>{0, 3, 0.5f, -0.5f, 0, 6, 0.5f, -0.5f}));
  // They start with 1.
  const auto first = InitialParameters(model->layout(), 1, Initialisation::kFanIn);
  EXPECT_EQ(first[deviations], 0);
  spec.deviation = Deviation::kPredicted;
  EXPECT_EQ(MakeModel(spec, *backend, {})->layout().Find("policy.box.weight").size, 4u);
  spec.actions = ActionSpace::Choice(2);
  EXPECT_EQ(ErrorOf([&] { MakeModel(spec, *backend, {}); }),
            "net.deviation = \"predicted\": the actions are choices, which have no deviations; "
            "leave it out");
}

// Where an observation of zeros leaves nothing but biases.
TEST(HeadsTest, DeviationsStartWhereTheyAreTold) {
  const auto backend = MakeReferenceBackend<float>();
  for (const ActionBounds bounds : {ActionBounds::kClip, ActionBounds::kTanh}) {
    for (const Deviation deviation : {Deviation::kParameter, Deviation::kPredicted}) {
      ModelSpec spec{.kind = NetKind::kMlp, .hidden = {4}, .channels = 1};
      spec.actions = ActionSpace::Box({-1, -1}, {1, 1});
      spec.actions.bounds = bounds;
      spec.deviation = deviation;
      spec.critic = Critic::kSeparate;
      const auto model = MakeModel(spec, *backend, {.envs = 1});
      Observe<float>(*model, {0});
      model->Forward(InitialParameters(model->layout(), 1, Initialisation::kOrthogonal, 0.5), 0);
      const float log = std::log(0.5f);
      EXPECT_EQ(Copy(model->logits()), (std::vector<float>{0, 0, log, log}));
    }
  }
}

// Six outputs each, which mean something else.
TEST(HeadsTest, TheFingerprintTellsWhatTheOutputsMean) {
  const auto backend = MakeReferenceBackend<float>();
  const auto fingerprint = [&](const ActionSpace& actions) {
    const ModelSpec spec{
        .kind = NetKind::kMlp,
        .channels = 3,
        .actions = actions,
        .deviation = actions.box() ? Deviation::kPredicted : Deviation::kParameter};
    return MakeModel(spec, *backend, {})->layout().fingerprint();
  };
  ActionSpace box = ActionSpace::Box({-1, -1, -1}, {1, 1, 1}), tanh = box;
  tanh.bounds = ActionBounds::kTanh;
  const std::set<std::uint64_t> all{
      fingerprint(ActionSpace::Choice(6)), fingerprint(ActionSpace::Choices({4, 2})),
      fingerprint(ActionSpace::Choices({2, 4})), fingerprint(box), fingerprint(tanh)};
  EXPECT_EQ(all.size(), 5u);
  // A mask is an observation's.
  EXPECT_EQ(fingerprint(Masked(ActionSpace::Choice(6))), fingerprint(ActionSpace::Choice(6)));
}

}  // namespace
}  // namespace starling::net
