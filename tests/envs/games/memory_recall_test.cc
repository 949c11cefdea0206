#include "envs/games/memory_recall.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace starling::envs::memory_recall_test {
namespace {

using Lights = std::array<float, MemoryRecall::kLights>;

Lights Seen(const MemoryRecall& game) {
  Lights lights;
  lights.fill(-1);
  game.Observe(lights.data());
  return lights;
}

// A whole episode: the observations from the reset on, and the outcome of every step.
struct Episode {
  std::vector<Lights> seen;
  std::vector<Outcome> outcomes;
};

// The lamp flickers as the lowest bits of `flicker` say; step i plays actions[i], the last of them
// from there on.
Episode Play(int cue, int delay, unsigned flicker, const std::vector<int>& actions) {
  std::vector<Draw> draws = {Draw::Below(4, cue), Draw::Integer(4, 10, delay)};
  for (int step = 0; step < delay + 2; ++step) {
    draws.push_back(Draw::Below(2, static_cast<int>(flicker >> step & 1)));
  }
  ScriptedChance chance(draws);
  MemoryRecall game;
  game.Reset(chance);
  Episode episode{.seen = {Seen(game)}, .outcomes = {}};
  for (std::size_t step = 0; episode.outcomes.empty() || !episode.outcomes.back().terminal;
       ++step) {
    episode.outcomes.push_back(game.Step(actions[std::min(step, actions.size() - 1)], chance));
    if (!episode.outcomes.back().terminal) episode.seen.push_back(Seen(game));
  }
  EXPECT_EQ(chance.Mismatch(), "");
  return episode;
}

TEST(MemoryRecall, ShowsTheCueThenNothingThenGo) {
  const Episode episode = Play(2, 4, 0b010011, {0});
  EXPECT_EQ(episode.seen, (std::vector<Lights>{{0, 0, 1, 0, 0, 1},
                                               {0, 0, 0, 0, 0, 1},
                                               {0, 0, 0, 0, 0, 0},
                                               {0, 0, 0, 0, 0, 0},
                                               {0, 0, 0, 0, 0, 1},
                                               {0, 0, 0, 0, 1, 0}}));
}

TEST(MemoryRecall, TheActionOfTheGoStepIsTheAnswer) {
  for (int cue = 0; cue < 4; ++cue) {
    for (int delay = 4; delay <= 9; ++delay) {
      for (int answer = 0; answer < 5; ++answer) {
        std::vector<int> actions(static_cast<std::size_t>(delay + 1), 1 + cue);
        actions.push_back(answer);
        std::vector<Outcome> expected(actions.size());
        expected.back() = {answer == 1 + cue ? 1.0f : 0.0f, true};
        EXPECT_EQ(Play(cue, delay, 0, actions).outcomes, expected)
            << "cue " << cue << ", delay " << delay << ", answer " << answer;
      }
    }
  }
}

// So a net without memory cannot know: its observations contain neither the cue nor anything that
// an agent could have written down by its actions.
TEST(MemoryRecall, NothingSeenAfterTheCueTellsIt) {
  const std::vector<std::vector<int>> policies = {{0}, {1}, {4}, {3, 2, 1, 0}, {1, 2, 3, 4, 0}};
  for (int delay = 4; delay <= 9; ++delay) {
    for (const unsigned flicker : {0u, 0x7ffu, 0x2aau, 0x5b1u}) {
      std::set<Lights> cues;
      const Episode expected = Play(0, delay, flicker, {0});
      for (int cue = 0; cue < 4; ++cue) {
        for (const std::vector<int>& actions : policies) {
          Episode episode = Play(cue, delay, flicker, actions);
          cues.insert(episode.seen[0]);
          episode.seen[0] = expected.seen[0];
          EXPECT_EQ(episode.seen, expected.seen) << "cue " << cue << ", delay " << delay;
          episode.outcomes.back() = expected.outcomes.back();  // the answer's
          EXPECT_EQ(episode.outcomes, expected.outcomes) << "cue " << cue << ", delay " << delay;
        }
      }
      EXPECT_EQ(cues.size(), 4u) << "while the first tells it";
    }
  }
}

}  // namespace
}  // namespace starling::envs::memory_recall_test
