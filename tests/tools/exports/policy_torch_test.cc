// Exported policies in PyTorch, beside our own nets, where the Python of $STARLING_TORCH_PYTHON, or
// Debian's (scripts/setup --torch), has it.
#include "tools/exports/policy_torch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/trained.h"
#include "tests/tools/exports/exported_policy.h"

namespace starling::exports {
namespace {

class PolicyTorchTest : public ExportedPolicy {};

TEST_P(PolicyTorchTest, ComputesWhatTheNetComputes) {
  const std::string python = PythonOf("STARLING_TORCH_PYTHON", "/usr/bin/python3");
  if (!Has(python, "torch")) GTEST_SKIP() << "no PyTorch; run scripts/setup --torch";
  WriteTorchPolicy(dir_ / "policy.safetensors", PolicyTorch(config_, env_, weights_));
  dir_.Write("policy.py", kPolicyInTorch);
  Compare(python);
}
INSTANTIATE_TEST_SUITE_P(Of, PolicyTorchTest, ::testing::ValuesIn(Cases()),
                         [](const auto& of) { return of.param.name; });

// Of a policy with normalisation, a mask, and two memories.
class TorchMistakesTest : public PolicyTorchTest {};
TEST_P(TorchMistakesTest, AreNamed) {
  const std::string python = PythonOf("STARLING_TORCH_PYTHON", "/usr/bin/python3");
  if (!Has(python, "torch")) GTEST_SKIP() << "no PyTorch; run scripts/setup --torch";
  WriteTorchPolicy(dir_ / "policy.safetensors", PolicyTorch(config_, env_, weights_));
  dir_.Write("policy.py", kPolicyInTorch);
  const fs::path script = fs::path(STARLING_SOURCE_DIR) / "tests/tools/exports/torch_mistakes.py";
  const Finished finished = RunProgram(dir_, {python, "-B", script, dir_.path()});
  EXPECT_EQ(finished.status, 0) << finished.err;
}

INSTANTIATE_TEST_SUITE_P(Of, TorchMistakesTest, ::testing::ValuesIn(Cases("memories")),
                         [](const auto& of) { return of.param.name; });

// The names that a reader of PyTorch expects, in its layouts.
TEST(PolicyTorch, NamesAndShapesArePyTorchs) {
  Config config;
  Layers({"conv 4 3x2", "relu", "lstm 6", "gru 3", "layer_norm"})(config);
  config.net.kind = NetKind::kLayers;
  const envs::EnvSpec env = Pictures(5, 4, 2, ActionSpace::Choices({2, 3}));
  const net::ParameterLayout layout = results::LayoutOf(config, env);
  std::vector<float> weights(layout.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i);
  std::map<std::string, std::vector<std::uint64_t>> shapes;
  std::map<std::string, std::vector<float>> values;
  for (const TorchTensor& tensor : PolicyTorch(config, env, weights).tensors) {
    shapes[tensor.name] = tensor.shape;
    values[tensor.name] = tensor.floats;
  }
  using Shape = std::vector<std::uint64_t>;
  EXPECT_THAT(
      shapes,
      testing::UnorderedElementsAre(
          testing::Pair("conv1.weight", Shape{4, 2, 3, 2}), testing::Pair("conv1.bias", Shape{4}),
          testing::Pair("lstm1.weight_ih", Shape{24, 36}),
          testing::Pair("lstm1.weight_hh", Shape{24, 6}), testing::Pair("lstm1.bias_ih", Shape{24}),
          testing::Pair("lstm1.bias_hh", Shape{24}), testing::Pair("gru1.weight_ih", Shape{9, 6}),
          testing::Pair("gru1.weight_hh", Shape{9, 3}), testing::Pair("gru1.bias_ih", Shape{9}),
          testing::Pair("gru1.bias_hh", Shape{9}), testing::Pair("norm1.weight", Shape{3}),
          testing::Pair("norm1.bias", Shape{3}), testing::Pair("policy.weight", Shape{5, 3}),
          testing::Pair("policy.bias", Shape{5}), testing::Pair("value.weight", Shape{1, 3}),
          testing::Pair("value.bias", Shape{1})));
  // Kernel (out 1, in 0, row 2, column 1) is ours of ((2 x 2 + 1) x 2 + 0) x 4 + 1.
  EXPECT_EQ(values["conv1.weight"][(1 * 2 + 0) * 6 + 2 * 2 + 1],
            weights[layout.Find("conv1.weight").offset + 41]);
  // The picture is (3, 3, 4): PyTorch's number (channel 1, row 0, column 2) is ours of 2 x 4 + 1.
  EXPECT_EQ(values["lstm1.weight_ih"][5 * 36 + 1 * 9 + 2],
            weights[layout.Find("lstm1.input_weight").offset + 9 * 24 + 5]);
}

}  // namespace
}  // namespace starling::exports
