// Our nets, advantages, loss and gradient against PyTorch (tests/golden/make_golden.py).
#include <gtest/gtest.h>

#include <sstream>

#include "core/safetensors.h"
#include "net/loss.h"
#include "net/model.h"
#include "tests/net/arrays.h"

namespace starling::net {
namespace {

using testing::RelativeError;

struct Golden {
  SafetensorsFile file;
  ModelSpec spec;
  int steps, envs;

  explicit Golden(const std::string& name)
      : file(SafetensorsFile::Read(STARLING_SOURCE_DIR "/tests/golden/" + name + ".safetensors")),
        steps(static_cast<int>(Number("steps"))),
        envs(static_cast<int>(Number("envs"))) {
    const std::vector<std::uint64_t>& shape = file.Shape("observations");
    spec = {NetKind::kLayers,           {},
            static_cast<int>(shape[1]), static_cast<int>(shape[2]),
            static_cast<int>(shape[3]), ActionSpace::Choice(static_cast<int>(Number("actions")))};
    if (file.metadata().contains("critic")) spec.critic = Critic::kSeparate;
    std::istringstream layers(file.metadata().at("layers"));
    for (std::string layer; std::getline(layers >> std::ws, layer, ',');) {
      spec.layers.push_back(layer);
    }
    if (file.metadata().contains("entries")) ReadEntries(file.metadata().at("entries"));
  }
  // "NAME HEIGHT WIDTH CHANNELS: LAYER, LAYER; ..."
  void ReadEntries(const std::string& text) {
    std::istringstream entries(text);
    for (std::string one; std::getline(entries >> std::ws, one, ';');) {
      ObservationEntry entry;
      std::istringstream words(one);
      words >> entry.name >> entry.height >> entry.width >> entry.channels;
      spec.entry_layers.push_back(entry.name + one.substr(one.find(':')));
      spec.entries.push_back(entry);
    }
  }
  double Number(const std::string& key) const { return std::stod(file.metadata().at(key)); }
};

template <class T>
std::vector<T> As(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// A whole training step, as an actor does it: T forward passes and one for the states after the
// last step, advantages, the loss, the gradient. `tolerance` is relative to the largest magnitude
// of each array compared, for the gradient to the largest of each parameter.
template <class T>
void Compare(const Golden& golden, Backend<T>& backend, double tolerance) {
  const int n = golden.steps * golden.envs;
  // 1. Forward passes over the steps and the states after the last one.
  const auto model = MakeModel(golden.spec, backend, {golden.envs, golden.steps + 1});
  const std::vector<T> parameters = As<T>(golden.file.F32("parameters"));
  ASSERT_EQ(parameters.size(), model->layout().size());
  const std::vector<T> cells = As<T>(golden.file.F32("observations"));
  ASSERT_EQ(cells.size(), model->observations().size());
  std::copy(cells.begin(), cells.end(), model->observations().begin());
  const std::vector<std::int64_t> ends = golden.file.I64("terminals");
  std::ranges::copy(ends, model->resets().begin() + golden.envs);
  for (int t = 0; t <= golden.steps; ++t) model->Forward(parameters, t);
  EXPECT_LT(RelativeError(model->logits(), golden.file.F64("logits")), tolerance);
  EXPECT_LT(RelativeError(model->values(), golden.file.F64("values")), tolerance);

  // 2. Advantages and returns.
  const auto samples = static_cast<std::size_t>(n);
  const std::vector<std::int64_t> actions_taken = golden.file.I64("taken");
  const std::vector<std::uint8_t> terminals(ends.begin(), ends.end());
  const std::vector<std::int32_t> taken(actions_taken.begin(), actions_taken.end());
  const std::vector<T> rewards = As<T>(golden.file.F32("rewards"));
  const T* const values = model->values().data();
  std::vector<T> advantages(samples), returns(samples);
  GeneralisedAdvantages<T>({.shape = {.steps = golden.steps,
                                      .envs = golden.envs,
                                      .gamma = golden.Number("gamma"),
                                      .lambda = golden.Number("lambda")},
                            .rewards = rewards.data(),
                            .terminals = terminals.data(),
                            .values = values,
                            .bootstrap = values + samples,
                            .advantages = advantages.data(),
                            .returns = returns.data()});
  EXPECT_LT(RelativeError(advantages, golden.file.F64("advantages")), tolerance);
  EXPECT_LT(RelativeError(returns, golden.file.F64("returns")), tolerance);

  // 3. The loss and its slopes.
  std::vector<T> dlogits(samples * static_cast<std::size_t>(model->outputs())), dvalues(samples);
  const LossWeights weights{.value_coef = golden.Number("value_coef"),
                            .entropy = golden.Number("entropy")};
  LossReport report;
  ActorCriticLoss<T>({.n = n,
                      .policy = model->policy(),
                      .logits = model->logits().data(),
                      .values = values,
                      .samples = {.taken = taken.data(),
                                  .advantages = advantages.data(),
                                  .returns = returns.data()},
                      .weights = &weights,
                      .dlogits = dlogits.data(),
                      .dvalues = dvalues.data(),
                      .report = &report});
  const std::vector<double> losses{report.policy_loss, report.value_loss, report.entropy};
  const std::vector<double> expected_losses = golden.file.F64("losses");
  for (std::size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected_losses[i], tolerance * std::fabs(expected_losses[i])) << i;
  }

  // 4. The gradient, parameter by parameter.
  std::vector<T> gradient(parameters.size(), T(NAN));
  model->Backward(parameters, golden.steps, dlogits, dvalues, gradient);
  const std::vector<double> expected = golden.file.F64("gradient");
  ASSERT_EQ(gradient.size(), expected.size());
  for (const Parameter& p : model->layout().parameters()) {
    EXPECT_LT(RelativeError(std::span(gradient).subspan(p.offset, p.size),
                            std::span(expected).subspan(p.offset, p.size)),
              tolerance)
        << p.name;
  }
}

class GoldenTest : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenTest, ReferenceInDouble) {
  Compare(Golden(GetParam()), *MakeReferenceBackend<double>(), 1e-12);
}
TEST_P(GoldenTest, ReferenceInFloat) {
  Compare(Golden(GetParam()), *MakeReferenceBackend<float>(), 1e-5);
}
TEST_P(GoldenTest, Cpu) { Compare(Golden(GetParam()), *MakeCpuBackend(), 1e-5); }

INSTANTIATE_TEST_SUITE_P(Nets, GoldenTest,
                         ::testing::Values("minatar", "mlp", "lstm", "norm", "deep_lstm", "gru",
                                           "residual", "separate", "entries"),
                         [](const auto& net) { return std::string(net.param); });

}  // namespace
}  // namespace starling::net
