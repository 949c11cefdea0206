// Layers from their names.
#include "net/stack.h"

#include <gmock/gmock.h>

#include <sstream>
#include <string>
#include <tuple>

#include "net/build_layers.h"
#include "net/model.h"
#include "net/transposed.h"
#include "tests/support/error_of.h"

namespace starling::net {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(StackTest, ReadsEveryLayer) {
  const LayerSpec conv = ParseLayer("conv 32 8x6/4");
  EXPECT_EQ(conv.kind, LayerKind::kConv);
  EXPECT_EQ(conv.width, 32);
  EXPECT_EQ(conv.kernel_height, 8);
  EXPECT_EQ(conv.kernel_width, 6);
  EXPECT_EQ(conv.stride, 4);
  EXPECT_EQ(ParseLayer("conv 16 3x3").stride, 1);
  EXPECT_EQ(ParseLayer(" linear   128 ").width, 128);
  EXPECT_EQ(ParseLayer("lstm 256").kind, LayerKind::kLstm);
  EXPECT_EQ(ParseLayer("gru 256").kind, LayerKind::kGru);
  EXPECT_FALSE(ParseLayer("conv 16 3x3").same);
  EXPECT_TRUE(ParseLayer("conv 16 3x3/2 same").same);
  const LayerSpec pool = ParseLayer("max_pool 3x2/2 same");
  EXPECT_EQ(pool.kind, LayerKind::kMaxPool);
  EXPECT_EQ(pool.kernel_width, 2);
  EXPECT_EQ(pool.stride, 2);
  EXPECT_TRUE(pool.same);
  const LayerSpec residual = ParseLayer("residual 3x3");
  EXPECT_EQ(residual.kind, LayerKind::kResidual);
  EXPECT_TRUE(residual.same);
  EXPECT_EQ(ParseLayer("layer_norm").kind, LayerKind::kLayerNorm);
  EXPECT_EQ(ParseLayer("relu").kind, LayerKind::kRelu);
  EXPECT_EQ(ParseLayer("tanh").kind, LayerKind::kTanh);
}

TEST(StackTest, WhatIsNoLayerIsAnsweredWithTheGrammar) {
  std::istringstream texts(
      "|conf 16 3x3|conv 16|conv 16 3|conv 16 3x|conv 16 x3|conv 16 3x3/|conv 16 3x3/0|conv 0 3x3|"
      "conv 16 3x3 4|conv 16 3x3x3|conv -1 3x3|conv 16 257x3|linear|linear 1.5|linear 65537|"
      "linear 1e3|linear 99999999999999999999|lstm 0|lstm 4 4|relu 5|tanh x|"
      "gru|gru 0|conv 16 same|conv same|same|max_pool|max_pool 3|max_pool 16 3x3|residual 3x3/2|"
      "residual 3x3 same|residual|linear 4 same|relu same");
  for (std::string text; std::getline(texts, text, '|');) {
    EXPECT_THAT(
        ErrorOf([&] { ParseLayer(text); }),
        AllOf(HasSubstr("\"" + text + "\" is no layer"), HasSubstr("\"conv CHANNELS HxW/STRIDE\"")))
        << text;
  }
}

std::vector<std::string> Texts(const ModelSpec& spec) {
  std::vector<std::string> texts;
  for (const LayerSpec& layer : LayersOf(spec)) texts.push_back(layer.text);
  return texts;
}

TEST(StackTest, AKindIsAStack) {
  EXPECT_EQ(Texts({.kind = NetKind::kMinatar, .hidden = {64}}),
            (std::vector<std::string>{"conv 16 3x3", "relu", "linear 64", "relu"}));
  EXPECT_EQ(Texts({.kind = NetKind::kAtariLstm, .hidden = {256}}),
            (std::vector<std::string>{"conv 16 8x8/4", "relu", "conv 32 4x4/2", "relu",
                                      "linear 256", "relu", "lstm 256"}));
  EXPECT_EQ(Texts({.kind = NetKind::kMlp, .hidden = {}}), std::vector<std::string>{});
  EXPECT_EQ(Texts({.kind = NetKind::kLayers, .layers = {"tanh"}}),
            std::vector<std::string>{"tanh"});
}

// As many cells as before, or the quotient rounded up; without "same", whole windows only.
TEST(StackTest, TheSizesOfPictures) {
  const auto cells = [](const std::string& layer, int height, int width) {
    ModelSpec spec{NetKind::kLayers, {}, height, width, 3, ActionSpace::Choice(1)};
    spec.layers = {layer};
    const Features output = PlanLayers(spec)[0].output;
    return std::vector<int>{output.height, output.width, output.channels};
  };
  using Sizes = std::vector<int>;
  EXPECT_EQ(cells("conv 8 3x3", 7, 6), (Sizes{5, 4, 8}));
  EXPECT_EQ(cells("conv 8 3x3 same", 7, 6), (Sizes{7, 6, 8}));
  EXPECT_EQ(cells("conv 8 4x2/2 same", 7, 6), (Sizes{4, 3, 8}));
  EXPECT_EQ(cells("conv 8 1x1/3 same", 7, 6), (Sizes{3, 2, 8}));
  EXPECT_EQ(cells("max_pool 3x3/2", 7, 6), (Sizes{3, 2, 3}));
  EXPECT_EQ(cells("max_pool 3x3/2 same", 7, 6), (Sizes{4, 3, 3}));
  EXPECT_EQ(cells("max_pool 3x1 same", 2, 1), (Sizes{2, 1, 3}));
  EXPECT_EQ(cells("residual 3x5", 2, 6), (Sizes{2, 6, 3}));
}

TEST(StackTest, APictureWhoseChannelsComeFirstIsFound) {
  const ModelSpec spec{NetKind::kNature, {256}, 4, 84, 84, ActionSpace::Choice(3)};
  const auto backend = MakeReferenceBackend<float>();
  EXPECT_EQ(ErrorOf([&] { MakeModel(spec, *backend, {}); }),
            "net.kind \"nature\" convolves 8x8 cells, but an observation of this env is 4x84: "
            "channels come last, here 84; transpose it");
}

// One that the net fits trains badly: a warning.
TEST(StackTest, AndWhereTheNetFitsItIsSuspected) {
  ModelSpec spec{NetKind::kMinatar, {256}, 4, 84, 84, ActionSpace::Choice(3)};
  EXPECT_EQ(WhyTranspose(spec),
            "the net convolves 4x84 cells of 84 channels: if these are 84x84 cells of 4, transpose "
            "the observation, for channels come last");
  spec.kind = NetKind::kMlp;
  EXPECT_EQ(WhyTranspose(spec), "") << "which has no convolution";
  spec.kind = NetKind::kMinatar;
  std::tie(spec.height, spec.width, spec.channels) = std::tuple(3, 210, 160);
  EXPECT_NE(WhyTranspose(spec), "");
  for (const auto& [height, width, channels] :
       {std::tuple(84, 84, 4), {210, 160, 3}, {10, 10, 10}, {4, 16, 64}}) {
    std::tie(spec.height, spec.width, spec.channels) = std::tuple(height, width, channels);
    EXPECT_EQ(WhyTranspose(spec), "") << height;
  }
}

TEST(StackTest, APictureAmongSeveralArraysIsSuspectedToo) {
  ModelSpec spec{NetKind::kMlp, {8}, 1, 1, 3 * 40 * 40 + 2, ActionSpace::Choice(3)};
  spec.entries = {{.name = "seen", .height = 3, .width = 40, .channels = 40},
                  {.name = "felt", .channels = 2}};
  EXPECT_EQ(WhyTranspose(spec), "");
  spec.entry_layers = {"seen: conv 4 3x3, linear 8"};
  EXPECT_NE(WhyTranspose(spec), "");
}

TEST(StackTest, AConvolutionThatDoesNotFitIsNamed) {
  const auto refusal = [](std::vector<std::string> layers, int side) {
    ModelSpec spec{NetKind::kLayers, {}, side, side, 2, ActionSpace::Choice(3)};
    spec.layers = std::move(layers);
    const auto backend = MakeReferenceBackend<float>();
    return ErrorOf([&] { MakeModel(spec, *backend, {}); });
  };
  EXPECT_EQ(refusal({"conv 8 3x3", "relu", "conv 4 2x2/2"}, 4), "");
  EXPECT_EQ(refusal({"conv 8 3x3", "relu", "conv 4 3x3"}, 4),
            "net.layers: \"conv 4 3x3\" convolves 3x3 cells, but gets 2x2 cells at that layer");
  EXPECT_EQ(refusal({"max_pool 5x5"}, 4),
            "net.layers: \"max_pool 5x5\" takes 5x5 cells, but gets 4x4 cells");
  EXPECT_EQ(refusal({"residual 7x7"}, 4), "");
  EXPECT_EQ(refusal({"residual 8x8"}, 4),
            "net.layers: \"residual 8x8\" convolves 8x8 cells, but gets 4x4 cells");
  EXPECT_EQ(
      refusal({"linear 8", "max_pool 2x2 same"}, 4),
      "net.layers: \"max_pool 2x2 same\" takes 2x2 cells, but gets a row of 8 numbers at that "
      "layer");
  EXPECT_EQ(refusal({"conv 8 5x5"}, 4),
            "net.layers: \"conv 8 5x5\" convolves 5x5 cells, but gets 4x4 cells");
  EXPECT_EQ(refusal({"linear 8", "conv 8 3x3"}, 4),
            "net.layers: \"conv 8 3x3\" convolves 3x3 cells, but gets a row of 8 numbers at that "
            "layer");
}

}  // namespace
}  // namespace starling::net
