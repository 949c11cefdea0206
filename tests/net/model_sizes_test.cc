// The sizes of nets: the published ones, and those that are refused.
#include <gmock/gmock.h>

#include "net/model.h"
#include "tests/support/error_of.h"

namespace starling::net {
namespace {

TEST(ModelSizesTest, TheMinatarNetHas132695Weights) {
  const auto backend = MakeReferenceBackend<float>();
  const auto model = MakeModel({NetKind::kMinatar, {128}, 10, 10, 4, ActionSpace::Choice(6)},
                               *backend, {.envs = 2});
  std::vector<std::string> names;
  for (const Parameter& p : model->layout().parameters()) names.push_back(p.name);
  EXPECT_EQ(names, (std::vector<std::string>{"conv1.weight", "conv1.bias", "fc1.weight", "fc1.bias",
                                             "policy.weight", "policy.bias", "value.weight",
                                             "value.bias"}));
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(model->layout().Find("conv1.weight").shape, (Shape{3, 3, 4, 16}));
  EXPECT_EQ(model->layout().Find("fc1.weight").shape, (Shape{8 * 8 * 16, 128}));
  EXPECT_EQ(model->layout().Find("policy.weight").shape, (Shape{128, 6}));
  EXPECT_EQ(model->layout().Find("value.weight").shape, (Shape{128, 1}));
  // 3*3*4*16 + 16 + 1024*128 + 128 + 128*6 + 6 + 128 + 1
  EXPECT_EQ(model->layout().num_weights(), 132695u);
  EXPECT_EQ(model->observations().size(), 2u * 400);
  EXPECT_EQ(model->logits().size(), 2u * 6);
  EXPECT_EQ(model->values().size(), 2u);
}

// Returns the refusal of MakeModel, or "".
std::string Refusal(const ModelSpec& spec, const Batch& batch = {}) {
  const auto backend = MakeReferenceBackend<float>();
  return ErrorOf([&] { MakeModel(spec, *backend, batch); });
}

TEST(ModelSizesTest, RefusesWhatTheOperatorGotWrong) {
  EXPECT_THAT(Refusal({NetKind::kMinatar, {8}, 2, 10, 4, ActionSpace::Choice(6)}),
              ::testing::HasSubstr("2x10"));
  EXPECT_THAT(Refusal({NetKind::kAtari, {8}, 10, 10, 4, ActionSpace::Choice(6)}),
              ::testing::HasSubstr("4x4"));
  EXPECT_THAT(Refusal({NetKind::kAtari, {8}, 12, 12, 4, ActionSpace::Choice(6)}),
              ::testing::HasSubstr("2x2 at that layer"));
  EXPECT_THAT(Refusal({NetKind::kMlp, {8, 0}, 2, 10, 4, ActionSpace::Choice(6)}),
              ::testing::HasSubstr("width 0"));
  EXPECT_EQ(Refusal({NetKind::kMinatar, {}, 3, 3, 1, ActionSpace::Choice(1)}), "");
}

// Nothing of that size is allocated first.
TEST(ModelSizesTest, RefusesArraysThatAnIntCannotCount) {
  EXPECT_THAT(Refusal({NetKind::kAtari, {8}, 84, 84, 4, ActionSpace::Choice(6)}, {.envs = 76'088}),
              ::testing::HasSubstr("make actors.envs_per_actor or actors.unroll smaller"));
  EXPECT_THAT(Refusal({NetKind::kMlp, {65'536, 65'536}, 1, 1, 1, ActionSpace::Choice(6)}),
              ::testing::HasSubstr("make net.hidden narrower"));
  const ModelSpec listed{.kind = NetKind::kLayers, .layers = {"linear 65536", "linear 65536"}};
  EXPECT_THAT(Refusal(listed), ::testing::HasSubstr("make its net.layers narrower"));
  // A weight, the patches of one sample, padded pictures.
  const auto pictures = [](std::vector<std::string> layers, int side) {
    ModelSpec spec{.kind = NetKind::kLayers, .height = side, .width = side};
    spec.layers = std::move(layers);
    return Refusal(spec);
  };
  for (const auto& layers : {std::vector<std::string>{"conv 65536 1x1", "residual 3x3"},
                             {"conv 65536 1x1", "conv 1 255x255 same"},
                             {"conv 2000 1x1", "conv 1 100x100 same"}}) {
    EXPECT_THAT(pictures(layers, 128), ::testing::HasSubstr("take fewer channels or a smaller"));
  }
  EXPECT_THAT(pictures({"conv 30000 1x1", "max_pool 255x255 same"}, 128),
              ::testing::HasSubstr("make actors.envs_per_actor or actors.unroll smaller"));
}

std::size_t WeightsOf(const ModelSpec& spec) {
  const auto backend = MakeReferenceBackend<float>();
  return MakeModel(spec, *backend, {})->layout().num_weights();
}

TEST(ModelSizesTest, TheAtariNetsAreThePapers) {
  // 84 -> 20 -> 9 cells a side.
  const std::size_t atari = (8 * 8 * 4 + 1) * 16 + (4 * 4 * 16 + 1) * 32 + (9 * 9 * 32 + 1) * 256 +
                            (256 + 1) * 6 + (256 + 1) * 1;
  EXPECT_EQ(WeightsOf({NetKind::kAtari, {256}, 84, 84, 4, ActionSpace::Choice(6)}), atari);
  // Input and hidden state, each by four gates.
  EXPECT_EQ(WeightsOf({NetKind::kAtariLstm, {256}, 84, 84, 4, ActionSpace::Choice(6)}),
            atari + (256 + 256 + 1) * 4 * 256);
  // 84 -> 20 -> 9 -> 7 cells a side.
  EXPECT_EQ(WeightsOf({NetKind::kNature, {512}, 84, 84, 4, ActionSpace::Choice(6)}),
            (8 * 8 * 4 + 1) * 32 + (4 * 4 * 32 + 1) * 64 + (3 * 3 * 64 + 1) * 64 +
                (7 * 7 * 64 + 1) * 512 + (512 + 1) * 6 + (512 + 1) * 1);
}

// 84 -> 42 -> 21 -> 11 cells a side; a section is a convolution and four more in two blocks.
TEST(ModelSizesTest, TheImpalaNetIsThePapers) {
  const auto section = [](std::size_t in, std::size_t out) {
    return (9 * in + 1) * out + 4 * (9 * out + 1) * out;
  };
  EXPECT_EQ(WeightsOf({NetKind::kImpala, {256}, 84, 84, 4, ActionSpace::Choice(6)}),
            section(4, 16) + section(16, 32) + section(32, 32) + (11 * 11 * 32 + 1) * 256 +
                (256 + 1) * 6 + (256 + 1) * 1);
}

}  // namespace
}  // namespace starling::net
