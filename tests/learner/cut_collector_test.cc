#include "learner/cut_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kVersion = 40;

class CutCollectorTest : public testing::Test {
 protected:
  CutCollectorTest() {
    for (const std::uint32_t slot : {0u, 1u, 2u}) {
      Member& member = roster_.Join(slot, "");
      member.life = 100 + slot;
      member.begun = slot != 1;
    }
  }
  std::vector<std::uint32_t> Begin() {
    CheckpointContent content;
    content.state.version = kVersion;
    content.actors = ActorStates{.base = 1, .begun = {{0, 1}}};
    return cuts_.Begin(std::move(content), roster_, /*now_ms=*/1000);
  }
  void Add(std::uint32_t slot, std::uint64_t offset, std::uint64_t total, std::string bytes,
           std::uint64_t version = kVersion) {
    cuts_.Add(*roster_.Find(slot), version, {offset, total, std::move(bytes)});
  }
  // Why the checkpoint is no cut.
  std::string WhyNot(std::int64_t now_ms = 1000) {
    const auto result = cuts_.Take(now_ms);
    if (!result) return "not yet";
    EXPECT_FALSE(result->content.actors);
    EXPECT_EQ(result->content.state.version, kVersion);
    EXPECT_FALSE(cuts_.collecting());
    return result->why_no_cut;
  }

  Roster roster_{1};
  CutCollector cuts_{/*timeout_ms=*/500};
};

TEST_F(CutCollectorTest, AsksMembersThatHaveBegunAndWaitsForAll) {
  EXPECT_FALSE(cuts_.Take(1000));
  EXPECT_THAT(Begin(), ElementsAre(0, 2));
  Add(2, 0, 5, "abc");
  Add(0, 0, 1, "x");
  EXPECT_FALSE(cuts_.Take(1499));
  Add(2, 3, 5, "de");
  const auto result = cuts_.Take(1499);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->why_no_cut, "");
  const ActorStates& actors = *result->content.actors;
  EXPECT_EQ(actors.base, 1u);
  ASSERT_THAT(actors.actors, SizeIs(2));
  EXPECT_EQ(actors.actors[0].slot, 0u);
  EXPECT_EQ(actors.actors[1].slot, 2u);
  EXPECT_EQ(actors.actors[1].life, 102u);
  EXPECT_EQ(actors.actors[1].incarnation, roster_.Find(2)->incarnation);
  EXPECT_THAT(actors.actors[1].state, SizeIs(5));
}

TEST_F(CutCollectorTest, NobodyToAskIsAnAnswer) {
  for (const std::uint32_t slot : {0u, 1u, 2u}) roster_.Leave(slot);
  EXPECT_THAT(Begin(), IsEmpty());
  EXPECT_TRUE(cuts_.Take(1000)->content.actors);
}

TEST_F(CutCollectorTest, WithoutOneStateThereIsNoCut) {
  Begin();
  Add(0, 0, 1, "x");
  EXPECT_EQ(WhyNot(1499), "not yet");
  EXPECT_EQ(WhyNot(1500), "actor 2 sent no state within checkpoint.cut_s = 0.5 s");
}

TEST_F(CutCollectorTest, AMemberThatLeavesTakesItsStateWithIt) {
  Begin();
  Add(0, 0, 1, "x");
  cuts_.Leave(0);  // its state is here
  cuts_.Leave(1);  // was not asked
  EXPECT_EQ(WhyNot(), "not yet");
  cuts_.Leave(2);
  EXPECT_EQ(WhyNot(), "actor 2 has left without its state");
}

TEST_F(CutCollectorTest, AnEnvThatCannotBeSavedIsASentence) {
  Begin();
  Add(2, 0, 0, "");
  EXPECT_EQ(WhyNot(), "actor 2 has no state that can be saved");
}

TEST_F(CutCollectorTest, PartsMustFit) {
  const struct {
    std::uint64_t offset, total;
    std::string bytes;
  } cases[] = {{1, 5, "a"}, {0, 2, "abc"}, {0, wire::kMaxStateBytes + 1, "a"}, {5, 3, ""}};
  for (const auto& [offset, total, bytes] : cases) {
    Begin();
    Add(2, offset, total, bytes);
    EXPECT_THAT(WhyNot(), HasSubstr("do not fit")) << offset << " " << total;
  }
}

TEST_F(CutCollectorTest, StatesOfOtherVersionsAndIncarnationsAreIgnored) {
  Begin();
  Add(0, 0, 1, "x", kVersion - 1);
  Add(1, 0, 1, "x");
  const std::uint32_t old = roster_.Find(2)->incarnation;
  roster_.Leave(2);
  EXPECT_NE(roster_.Join(2, "").incarnation, old);
  Add(2, 0, 1, "x");
  Add(0, 0, 1, "x");
  EXPECT_EQ(WhyNot(), "not yet");
}

TEST_F(CutCollectorTest, CanBeGivenUp) {
  cuts_.GiveUp("nothing is collected");
  Begin();
  EXPECT_EQ(WhyNot(), "not yet");
  cuts_.GiveUp("the next checkpoint is due");
  EXPECT_EQ(WhyNot(), "the next checkpoint is due");
}

}  // namespace
}  // namespace starling::learner
