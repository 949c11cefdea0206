// Nets that observe several arrays: the layers of each, what they are joined to, refusals.
// (Gradients against PyTorch: golden_test.cc; in stages: part_test.cc.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/part.h"
#include "tests/net/model_fixture.h"
#include "tests/support/error_of.h"

namespace starling::net::entries_test {
namespace {

using Texts = std::vector<std::string>;
using testing::Between;
using testing::Normals;
using testing::Observe;
using testing::ProveGradient;
using testing::RandomParameters;
using ::testing::StartsWith;

// A camera of 4 x 3 cells of 2 channels and five numbers.
ModelSpec Robot(Texts entry_layers = {}, NetKind kind = NetKind::kMlp) {
  ModelSpec spec{
      .kind = kind, .hidden = {6}, .channels = 29, .actions = ActionSpace::Choice(3), .layers = {}};
  spec.entries = {{"camera", 4, 3, 2}, {"joints", 1, 1, 5}};
  spec.entry_layers = std::move(entry_layers);
  return spec;
}

// The layers of each entry.
std::vector<Texts> Entries(const ModelSpec& spec) {
  std::vector<Texts> all;
  for (const EntryLayers& entry : LayersOfEntries(spec)) {
    all.emplace_back();
    for (const LayerSpec& layer : entry.layers) all.back().push_back(layer.text);
  }
  return all;
}

TEST(EntriesTest, PicturesHaveTheLayersOfTheKindAndRowsHaveNone) {
  EXPECT_EQ(Entries(Robot({}, NetKind::kMinatar)),
            (std::vector<Texts>{{"conv 16 3x3", "relu"}, {}}));
  EXPECT_EQ(Entries(Robot({}, NetKind::kMlp)), (std::vector<Texts>{{}, {}}));
  EXPECT_EQ(Entries(Robot({}, NetKind::kLayers)), (std::vector<Texts>{{}, {}}));
  // Above them, a kind has its hidden layers alone.
  Texts above;
  for (const LayerSpec& layer : LayersOf(Robot({}, NetKind::kAtariLstm))) {
    above.push_back(layer.text);
  }
  EXPECT_EQ(above, (Texts{"linear 6", "relu", "lstm 6"}));
}

TEST(EntriesTest, ListedLayersTakeTheirPlace) {
  EXPECT_EQ(Entries(Robot({"camera: conv 8 2x2, relu, linear 4", "joints:tanh"})),
            (std::vector<Texts>{{"conv 8 2x2", "relu", "linear 4"}, {"tanh"}}));
  EXPECT_EQ(Entries(Robot({"camera:"}, NetKind::kMinatar)), (std::vector<Texts>{{}, {}}));
}

TEST(EntriesTest, ANameMayHoldColons) {
  ModelSpec spec = Robot();
  spec.entries = {{"a", 4, 3, 2}, {"a:b", 1, 1, 5}};
  spec.entry_layers = {"a:b: linear 7", "a: linear 8"};
  EXPECT_EQ(PlanLayers(spec)[0].output.size(), 8 + 7);
}

TEST(EntriesTest, WhatCannotBeIsRefused) {
  const auto refusal = [](const ModelSpec& spec) { return ErrorOf([&] { PlanLayers(spec); }); };
  EXPECT_EQ(refusal(Robot({"image: relu"})),
            "net.entries: \"image: relu\" begins with no entry of this env; write \"NAME: LAYER, "
            "LAYER\" with one of camera, joints");
  EXPECT_EQ(refusal(Robot({"camera: relu", "camera: tanh"})),
            "net.entries: \"camera\" is listed twice");
  EXPECT_EQ(refusal(Robot({"joints: lstm 8"})),
            "net.entries: \"lstm 8\" of \"joints\": a layer with a memory stands above all "
            "entries; put it into net.layers");
  EXPECT_THAT(refusal(Robot({"joints: lin 8"})),
              StartsWith("net.entries: \"lin 8\" is no layer: use \"conv CHANNELS HxW\""));
  EXPECT_THAT(refusal(Robot({"joints: relu,, tanh"})), StartsWith("net.entries: \"\" is no layer"));
  EXPECT_EQ(refusal(Robot({"joints: conv 8 1x2"})),
            "net.entries: \"conv 8 1x2\" of \"joints\" convolves 1x2 cells, but gets a row of 5 "
            "numbers");
  EXPECT_EQ(refusal(Robot({"camera: conv 8 3x3, conv 8 3x3"})),
            "net.entries: \"conv 8 3x3\" of \"camera\" convolves 3x3 cells, but gets 2x1 cells at "
            "that layer");
  EXPECT_EQ(refusal(Robot({}, NetKind::kAtari)),
            "net.kind \"atari\" convolves 8x8 cells, but \"camera\" of this env is 4x3 cells: list "
            "its layers in net.entries, or none, as in \"camera:\"");
  ModelSpec plain = Robot({"camera: relu"});
  plain.entries.clear();
  EXPECT_EQ(refusal(plain),
            "net.entries: an observation of this env is one array; leave it out, its layers are "
            "net.layers");
  const ModelSpec wide = Robot({"camera: linear 65536, linear 65536"});
  EXPECT_THAT(ErrorOf([&] { CheckCounts(wide, PlanLayers(wide), {}); }),
              ::testing::HasSubstr("make its net.entries narrower"));
}

TEST(EntriesTest, ParametersAreCalledByTheirEntry) {
  const auto backend = MakeReferenceBackend<float>();
  ModelSpec spec = Robot({"camera: conv 2 3x3, relu, linear 4"});
  spec.critic = Critic::kSeparate;
  const auto model = MakeModel(spec, *backend, {});
  Texts names;
  for (const Parameter& p : model->layout().parameters()) {
    if (p.name.ends_with(".weight")) names.push_back(p.name);
  }
  EXPECT_EQ(names,
            (Texts{"entries.0.camera.conv1.weight", "entries.0.camera.fc1.weight", "fc1.weight",
                   "policy.weight", "critic.entries.0.camera.conv1.weight",
                   "critic.entries.0.camera.fc1.weight", "critic.fc1.weight", "value.weight"}));
  EXPECT_EQ(model->layout().Find("fc1.weight").shape, (std::vector<std::int64_t>{4 + 5, 6}));
}

// Dots in names, and the inner layers of a residual one, make no two parameters alike.
TEST(EntriesTest, EveryParameterHasANameOfItsOwn) {
  const auto backend = MakeReferenceBackend<float>();
  ModelSpec spec = Robot();
  spec.entries = {{"x", 4, 3, 2}, {"x.res1", 1, 1, 5}};
  spec.entry_layers = {"x: residual 3x3", "x.res1: conv 4 1x1"};
  EXPECT_NO_THROW(MakeModel(spec, *backend, {}));
}

// The weights of entries in another order are those of another net.
TEST(EntriesTest, TheirOrderIsInTheFingerprint) {
  const auto backend = MakeReferenceBackend<float>();
  const auto fingerprint = [&](const std::vector<ObservationEntry>& entries) {
    ModelSpec spec = Robot({"camera: linear 5"});
    spec.entries = entries;
    return MakeModel(spec, *backend, {})->layout().fingerprint();
  };
  EXPECT_NE(fingerprint({{"camera", 4, 3, 2}, {"joints", 1, 1, 5}}),
            fingerprint({{"joints", 1, 1, 5}, {"camera", 4, 3, 2}}));
}

TEST(EntriesTest, FirstWeightsAreThoseOfLayersEverywhere) {
  const auto backend = MakeReferenceBackend<float>();
  const auto model = MakeModel(Robot({"camera: layer_norm, linear 4"}), *backend, {});
  const auto first = InitialParameters(model->layout(), 1, Initialisation::kFanIn);
  const auto of = [&](const char* name) {
    const Parameter& p = model->layout().Find(name);
    return std::vector(first.begin() + static_cast<std::ptrdiff_t>(p.offset),
                       first.begin() + static_cast<std::ptrdiff_t>(p.offset + p.size));
  };
  EXPECT_THAT(of("entries.0.camera.norm1.scale"), ::testing::Each(1.0f));
  EXPECT_THAT(of("entries.0.camera.norm1.bias"), ::testing::Each(0.0f));
  EXPECT_THAT(of("entries.0.camera.fc1.bias"), ::testing::Each(::testing::Ne(0.0f)));
}

// A whole net in double against central differences, with everything around the entries.
TEST(EntriesTest, GradientsAgainstCentralDifferences) {
  RandomStream random(StreamId{.seed = 64});
  for (const Critic critic : {Critic::kShared, Critic::kSeparate}) {
    for (const bool masked : {false, true}) {
      ModelSpec spec = Robot({"joints: linear 3, tanh", "camera: conv 2 2x2, tanh, residual 3x1"},
                             NetKind::kLayers);
      spec.layers = {"linear 4", "tanh", "gru 3"};
      spec.critic = critic;
      spec.actions.masked = masked;
      for (int trial = 0; trial < 3; ++trial) ProveGradient(spec, random, 1e-6);
    }
  }
}

// Entries that pass as they are change no bit of the net for one array.
TEST(EntriesTest, ThatPassAreTheNetOfOneArray) {
  const auto backend = MakeCpuBackend();
  ModelSpec plain = Robot();
  plain.entries.clear();
  const auto several = MakeModel(Robot(), *backend, {.envs = 3});
  const auto one = MakeModel(plain, *backend, {.envs = 3});
  EXPECT_EQ(several->layout().fingerprint(), one->layout().fingerprint());
  RandomStream random(StreamId{.seed = 65});
  const auto parameters = RandomParameters<float>(one->layout(), random);
  const auto seen = Normals<float>(random, 3 * 29);
  for (auto* model : {several.get(), one.get()}) {
    Observe(*model, seen);
    model->Forward(parameters, 0);
  }
  EXPECT_EQ(testing::Copy(several->logits()), testing::Copy(one->logits()));
}

}  // namespace
}  // namespace starling::net::entries_test
