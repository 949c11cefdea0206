// Nets cut into parts: where they are cut, and that parts that pass on activations and gradients,
// block by block, are the whole net.
#include "net/part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/net/arrays.h"
#include "tests/support/error_of.h"

namespace starling::net {
namespace {

using testing::Between;
using testing::Normals;
using testing::RelativeError;

ModelSpec Listed(std::vector<std::string> layers, int height = 1, int width = 1, int channels = 5) {
  ModelSpec spec{.kind = NetKind::kLayers, .hidden = {}, .actions = ActionSpace::Choice(3)};
  spec.height = height, spec.width = width, spec.channels = channels;
  spec.layers = std::move(layers);
  return spec;
}

// Of a camera and five numbers.
ModelSpec OfEntries(std::vector<std::string> entry_layers, std::vector<std::string> layers) {
  ModelSpec spec = Listed(std::move(layers), 1, 1, 29);
  spec.entries = {{"camera", 4, 3, 2}, {"joints", 1, 1, 5}};
  spec.entry_layers = std::move(entry_layers);
  return spec;
}

// The layers of each part.
std::vector<std::vector<std::string>> Cut(const ModelSpec& spec, int stages) {
  std::vector<std::vector<std::string>> all;
  for (const PartSpec& part : CutIntoStages(spec, stages)) {
    all.emplace_back();
    for (const PlannedLayer& layer : part.layers) {
      all.back().push_back(layer.spec.text + (layer.relu ? ", relu" : ""));
    }
  }
  return all;
}

using Layers = std::vector<std::vector<std::string>>;

// Multiply-adds of both passes: 5 x 8 x 2 = 80, then 8 x 8 x 3 = 192 each; the top 8 x 3 and its
// heads 8 x 4 x 3, 120 together. So in three parts 272, 192 and 120.
TEST(CutTest, TheLargestPartIsAsSmallAsCanBe) {
  const ModelSpec even = Listed({"linear 8", "relu", "linear 8", "linear 8", "tanh"});
  EXPECT_EQ(Cut(even, 2), (Layers{{"linear 8, relu", "linear 8"}, {"linear 8", "tanh"}}));
  EXPECT_EQ(Cut(even, 3), (Layers{{"linear 8, relu", "linear 8"}, {"linear 8"}, {"tanh"}}));
  EXPECT_EQ(Cut(even, 4), (Layers{{"linear 8, relu"}, {"linear 8"}, {"linear 8"}, {"tanh"}}));
  // A wide top: the rest is one part.
  EXPECT_EQ(Cut(Listed({"linear 4", "linear 4", "linear 4", "lstm 64"}), 2),
            (Layers{{"linear 4", "linear 4", "linear 4"}, {"lstm 64"}}));
  // A wide bottom.
  EXPECT_EQ(Cut(Listed({"linear 900", "linear 4", "linear 4"}), 2),
            (Layers{{"linear 900"}, {"linear 4", "linear 4"}}));
}

TEST(CutTest, TheHeadsAreInTheLastPartAndTheFirstNeedsNoGradient) {
  const auto parts = CutIntoStages(Listed({"linear 8", "relu", "lstm 4"}), 2);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_TRUE(parts[0].first);
  EXPECT_FALSE(parts[1].first);
  EXPECT_FALSE(parts[0].policy.has_value());
  EXPECT_EQ(parts[1].policy.value().actions.values(), 3);
  EXPECT_EQ(parts[1].input.size(), 8);
  EXPECT_TRUE(parts[1].input.relu) << "its gradient must be masked";
}

TEST(CutTest, MasksDoNotReachAnotherStage) {
  ModelSpec spec = Listed({"linear 8", "lstm 8"});
  spec.actions.masked = true;
  EXPECT_EQ(ErrorOf([&] { CutIntoStages(spec, 2); }),
            "net.stages: the first stage sees which actions are allowed, and the last one needs "
            "to know; set net.stages = 1 for environments with action masks");
}

TEST(CutTest, AStageIsALayerAtLeast) {
  EXPECT_EQ(ErrorOf([] {
              CutIntoStages(Listed({"linear 8", "relu"}), 2);
            }),
            "net.stages = 2: this net has 1 layer below its heads, and a stage is one at least");
  EXPECT_THAT(ErrorOf([] {
                CutIntoStages(Listed({"linear 8", "lstm 8"}), 3);
              }),
              ::testing::HasSubstr("this net has 2 layers"));
  EXPECT_EQ(Cut({.kind = NetKind::kMlp, .hidden = {}}, 1), (Layers{{}}));
}

// Parts in double on one backend, chained by hand.
class Chain {
 public:
  Chain(const ModelSpec& spec, int stages, Backend<double>& backend, const Batch& batch)
      : batch_(batch) {
    for (const PartSpec& part : CutIntoStages(spec, stages)) {
      parts_.push_back(std::make_unique<Part<double>>(part, backend, batch));
    }
  }
  Part<double>& bottom() { return *parts_.front(); }
  Part<double>& top() { return *parts_.back(); }

  void Forward(std::span<const double> parameters, const Block& block) {
    Part<double>* below = nullptr;
    ForEach(parameters, [&](Part<double>& part, std::span<const double> own) {
      if (below != nullptr) {
        std::ranges::copy(below->output(), part.input().begin());
        std::ranges::copy(below->resets(), part.resets().begin());
      }
      part.Model<double>::Forward(own, block);
      below = &part;
    });
  }
  void Carry(int step) {
    for (const auto& part : parts_) part->Carry(step);
  }
  // Blocks of `envs` envs, back in time; then the weights.
  std::vector<double> Backward(std::span<const double> parameters, int steps, int envs,
                               std::span<const double> dlogits, std::span<const double> dvalues) {
    for (int step = steps - 1; step >= 0; --step) {
      for (int first = 0; first < batch_.envs; first += envs) {
        const Block block{step, first, std::min(envs, batch_.envs - first)};
        BackwardInput(parameters, block, steps, dlogits, dvalues);
      }
    }
    std::vector<double> gradient(parameters.size(), NAN);
    std::size_t at = 0;
    ForEach(parameters, [&](Part<double>& part, std::span<const double> own) {
      const bool is_top = &part == &top();
      part.BackwardWeights(own, steps, is_top ? dlogits : std::span<const double>(),
                           is_top ? dvalues : std::span<const double>(),
                           std::span(gradient).subspan(at, own.size()));
      at += own.size();
    });
    return gradient;
  }

 private:
  void ForEach(std::span<const double> parameters, const auto& act) {
    for (const auto& part : parts_) {
      const std::size_t size = part->layout().size();
      act(*part, parameters.first(size));
      parameters = parameters.subspan(size);
    }
    EXPECT_TRUE(parameters.empty());
  }
  void BackwardInput(std::span<const double> parameters, const Block& block, int steps,
                     std::span<const double> dlogits, std::span<const double> dvalues) {
    std::size_t end = parameters.size();
    for (std::size_t i = parts_.size(); i-- > 0;) {
      const std::size_t size = parts_[i]->layout().size();
      end -= size;
      const bool is_top = i + 1 == parts_.size();
      if (!is_top) {
        std::ranges::copy(parts_[i + 1]->input_gradient(), parts_[i]->output_gradient().begin());
      }
      parts_[i]->BackwardInput(parameters.subspan(end, size), block, steps,
                               is_top ? dlogits : std::span<const double>(),
                               is_top ? dvalues : std::span<const double>());
    }
  }

  const Batch batch_;
  std::vector<std::unique_ptr<Part<double>>> parts_;
};

// The whole net is proven against central differences (model_test.cc).
TEST(PartTest, InPiecesTheBackwardPassIsThatOfTheWholeNet) {
  const ModelSpec specs[] = {
      Listed({"linear 6", "relu", "lstm 4", "linear 5", "tanh", "lstm 3"}),
      Listed({"lstm 4", "lstm 4", "lstm 4", "lstm 4"}),
      Listed({"conv 3 2x2", "relu", "conv 2 2x2", "layer_norm", "relu", "linear 7", "layer_norm"},
             4, 4, 2),
      Listed({"linear 6", "tanh", "relu", "linear 4", "relu"}),
      Listed({"residual 3x3", "max_pool 2x2/2 same", "relu", "gru 3", "gru 4"}, 4, 3, 2),
      Listed({"conv 3 2x2 same", "residual 3x2", "residual 1x1", "relu", "linear 5"}, 4, 4, 2),
      OfEntries({"camera: conv 2 2x2, relu, residual 3x1", "joints: linear 3, tanh"},
                {"linear 6", "relu", "lstm 3"}),
  };
  const auto backend = MakeReferenceBackend<double>();
  RandomStream random(StreamId{.seed = 71});
  for (const ModelSpec& spec : specs) {
    const Batch batch{.envs = 5, .steps = 4};
    const int steps = 3;
    const auto whole = MakeModel(spec, *backend, batch);
    const auto parameters = Normals<double>(random, static_cast<int>(whole->layout().size()), 0.5);
    const auto seen = Normals<double>(random, static_cast<int>(whole->observations().size()));
    const auto dlogits = Normals<double>(random, steps * batch.envs * spec.actions.values());
    const auto dvalues = Normals<double>(random, steps * batch.envs);
    std::vector<std::uint8_t> resets(whole->resets().size());
    for (std::uint8_t& reset : resets) reset = random.Below(4) == 0;
    const auto play = [&](auto& net, auto& bottom) {
      std::ranges::copy(seen, bottom.observations().begin());
      std::ranges::copy(resets, bottom.resets().begin());
      net.Forward(parameters, Block{.step = 0, .envs = batch.envs});
      net.Carry(0);
      for (int t = 0; t < steps; ++t) net.Forward(parameters, Block{.step = t, .envs = batch.envs});
    };
    play(*whole, *whole);
    std::vector<double> expected(parameters.size(), NAN);
    whole->Backward(parameters, steps, dlogits, dvalues, expected);

    const int layers = static_cast<int>(PlanLayers(spec).size());
    for (int stages = 1; stages <= layers; ++stages) {
      for (const int envs : {1, 2, 5}) {
        SCOPED_TRACE(spec.layers[0] + ", stages " + std::to_string(stages));
        Chain chain(spec, stages, *backend, batch);
        play(chain, chain.bottom());
        EXPECT_LE(RelativeError(chain.top().logits(), whole->logits()), 1e-13);
        EXPECT_LE(RelativeError(chain.top().values(), whole->values()), 1e-13);
        const auto gradient = chain.Backward(parameters, steps, envs, dlogits, dvalues);
        EXPECT_LE(RelativeError(gradient, expected), 1e-13);
      }
    }
  }
}

}  // namespace
}  // namespace starling::net
