#include "mirror/all_reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "learner/apply/applier.h"
#include "tests/mirror/thread_world.h"

namespace starling::mirror {
namespace {

using testing::ElementsAreArray;

constexpr std::size_t kFloats = 16 * 61;  // no number of ranks divides it

// The gradient of a rank: numbers of many sizes, so that the order of a sum shows in its bits.
std::vector<float> GradientOf(std::uint32_t rank, NumberType type) {
  RandomStream random({.seed = rank});
  std::vector<float> gradient(kFloats);
  for (float& value : gradient) {
    value = (random.Uniform() - 0.5f) * std::exp2(8 * random.Uniform());
  }
  if (type == NumberType::kBf16) RoundToBfloat16(gradient);
  return gradient;
}

std::uint32_t SamplesOf(std::uint32_t rank) { return 5 + 10 * rank; }

// `slots`: of the gradients of an update.
std::vector<learner::Received> Update(const std::vector<std::uint32_t>& slots) {
  std::vector<learner::Received> gradients;
  for (const std::uint32_t slot : slots) {
    auto& gradient = gradients.emplace_back();
    gradient.header.slot = slot;
    gradient.body.samples = SamplesOf(slot);
    gradient.steps = SamplesOf(slot);
  }
  return gradients;
}

// What a learner makes of them.
std::vector<float> MeanAtALearner(const std::vector<std::uint32_t>& slots, NumberType type) {
  std::vector<std::vector<float>> gradients;
  for (const std::uint32_t slot : slots) gradients.push_back(GradientOf(slot, type));
  learner::Update update;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    update.gradients.push_back(
        {.values = gradients[i],
         .weight = learner::RelativeWeight(SamplesOf(slots[i]), SamplesOf(slots[0]))});
  }
  std::vector<float> room(kFloats);
  const float* mean =
      learner::MeanGradient(update, learner::MeanFactor(update), nullptr, 0, kFloats, room.data());
  return {mean, mean + kFloats};
}

class AllReduceOf : public testing::TestWithParam<NumberType> {};

TEST_P(AllReduceOf, EveryRankHasTheBitsOfALearner) {
  for (const int ranks : {1, 2, 3, 5}) {
    std::vector<std::uint32_t> slots;
    for (int rank = 0; rank < ranks; ++rank) slots.push_back(static_cast<std::uint32_t>(rank));
    const std::vector<float> wanted = MeanAtALearner(slots, GetParam());
    std::vector<std::vector<float>> means(slots.size());
    RunRanks(ranks, [&](ThreadWorld& world) {
      AllReduce all(world, kFloats, kFloats, GetParam());
      for (int turn = 0; turn < 2; ++turn) {
        const auto rank = static_cast<std::uint32_t>(world.rank());
        std::ranges::copy(GradientOf(rank, GetParam()), all.own().begin());
        const auto mean = all.Mean(Update(slots));
        means[rank] = {mean.begin(), mean.end()};
      }
    });
    for (const auto& mean : means) EXPECT_EQ(mean, wanted) << ranks << " ranks";
  }
}

// The gradient of a rank was refused: the update has those of the others.
TEST_P(AllReduceOf, AnUpdateMayLackARank) {
  const std::vector<float> wanted = MeanAtALearner({0, 2}, GetParam());
  RunRanks(3, [&](ThreadWorld& world) {
    AllReduce all(world, kFloats, kFloats, GetParam());
    std::ranges::copy(GradientOf(static_cast<std::uint32_t>(world.rank()), GetParam()),
                      all.own().begin());
    EXPECT_THAT(all.Mean(Update({0, 2})), ElementsAreArray(wanted));
  });
}

INSTANTIATE_TEST_SUITE_P(Types, AllReduceOf, testing::Values(NumberType::kF32, NumberType::kBf16),
                         [](const auto& test) { return NameOf(test.param); });

// Fewer groups of 16 floats than ranks: some have nothing to add up.
TEST(AllReduce, ANetMayBeSmallerThanTheRanks) {
  RunRanks(5, [&](ThreadWorld& world) {
    AllReduce all(world, 32, 32, NumberType::kF32);
    std::ranges::fill(all.own(), static_cast<float>(world.rank()));
    std::vector<learner::Received> gradients = Update({0, 1, 2, 3, 4});
    for (learner::Received& gradient : gradients) gradient.body.samples = 5;
    EXPECT_THAT(all.Mean(gradients), testing::Each(2.0f));
  });
}

// Rank 1's unroll has been counted already: its running sums add nothing to the mean.
TEST(AllReduce, RunningSumsOfAnUnrollCountOnce) {
  RunRanks(2, [&](ThreadWorld& world) {
    AllReduce all(world, 64, 16, NumberType::kF32);
    std::ranges::fill(all.own(), static_cast<float>(2 + 2 * world.rank()));
    std::vector<learner::Received> gradients = Update({0, 1});
    for (learner::Received& gradient : gradients) gradient.body.samples = 5;
    gradients[1].steps = 0;
    const auto mean = all.Mean(gradients);
    EXPECT_THAT(mean.first(16), testing::Each(3.0f));
    EXPECT_THAT(mean.subspan(16), testing::Each(1.0f));
  });
}

}  // namespace
}  // namespace starling::mirror
