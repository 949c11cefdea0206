#include "tools/play/play_session.h"

#include <gmock/gmock.h>

namespace starling::play {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Press kUp{Key::kUp}, kDown{Key::kDown}, kLeft{Key::kLeft}, kRight{Key::kRight},
    kFire{Key::kFire};
const std::vector<std::string> kGrid = {"noop", "left", "up", "right", "down", "fire"};

TEST(KeyDecoder, PlainKeys) {
  KeyDecoder decoder;
  EXPECT_THAT(decoder.Feed("wasd pq\003"),
              ElementsAre(kUp, kLeft, kDown, kRight, kFire, Press{Key::kPause}, Press{Key::kQuit},
                          Press{Key::kInterrupt}));
  EXPECT_THAT(decoder.Feed("WQ"), ElementsAre(kUp, Press{Key::kQuit}));
  EXPECT_THAT(decoder.Feed("07"), ElementsAre(Press{Key::kDigit, 0}, Press{Key::kDigit, 7}));
  EXPECT_THAT(decoder.Feed("xyz\r\n\t\x7f\xc3\xa4"), IsEmpty());
}

TEST(KeyDecoder, ArrowsOfBothKindsAndWithModifiers) {
  KeyDecoder decoder;
  EXPECT_THAT(decoder.Feed("\033[A\033[B\033[C\033[D"), ElementsAre(kUp, kDown, kRight, kLeft));
  EXPECT_THAT(decoder.Feed("\033OA\033OD"), ElementsAre(kUp, kLeft));
  EXPECT_THAT(decoder.Feed("\033[1;5C"), ElementsAre(kRight));
}

TEST(KeyDecoder, SequencesComeInPieces) {
  KeyDecoder decoder;
  EXPECT_THAT(decoder.Feed("a\033"), ElementsAre(kLeft));
  EXPECT_THAT(decoder.Feed("["), IsEmpty());
  EXPECT_THAT(decoder.Feed("1;"), IsEmpty());
  EXPECT_THAT(decoder.Feed("2"), IsEmpty());
  EXPECT_THAT(decoder.Feed("Ad"), ElementsAre(kUp, kRight));
}

TEST(KeyDecoder, OtherSequencesArePassedOver) {
  KeyDecoder decoder;
  EXPECT_THAT(decoder.Feed("\033[3~\033[H\033OP\033[200~"), IsEmpty());
  EXPECT_THAT(decoder.Feed("\033q"), ElementsAre(Press{Key::kQuit})) << "Escape, then q";
  EXPECT_THAT(decoder.Feed("\033\033[A"), ElementsAre(kUp));
  EXPECT_THAT(decoder.Feed("\033[12\003"), ElementsAre(Press{Key::kInterrupt}))
      << "whatever else, there is a way out";
}

// Pressed at 0, again at 40, 80, … 360: at 30 steps a second none is without it.
TEST(Steering, AHeldKeyInAFastGameActsWithoutGaps) {
  Steering steering(kGrid);
  int pressed = 0;
  for (int now = 0; now <= 400; now += 33) {
    for (; pressed <= now; pressed += 40) steering.OnPress(kRight, pressed);
    EXPECT_EQ(steering.Take(now), 3) << now;
  }
  EXPECT_EQ(steering.Take(460), 3);
  EXPECT_EQ(steering.Take(461), 0) << "100 ms after the last press";
}

// Keys, and the actions taken meanwhile; times are in ms.
struct Scene {
  const char* name;
  std::vector<std::string> actions;
  std::vector<std::pair<Press, int>> pressed_at;
  std::vector<std::pair<int, int>> taken;  // when, and the action
};
void PrintTo(const Scene& scene, std::ostream* out) { *out << scene.name; }

const Scene kScenes[] = {
    {"ATapInASlowGameIsOneStep", kGrid, {{kLeft, 10}}, {{0, 0}, {125, 1}, {250, 0}}},
    {"APressWaitsButNotForEver", kGrid, {{kUp, 0}, {kUp, 1000}}, {{400, 2}, {1401, 0}}},
    {"TwoTapsAreTwoSteps", kGrid, {{kFire, 0}, {kLeft, 20}}, {{125, 5}, {250, 1}, {375, 0}}},
    {"TheOppositeKeyEndsADirection",
     kGrid,
     {{kLeft, 0}, {kRight, 1}, {kDown, 4}, {kUp, 5}},
     {{2, 3}, {3, 3}, {110, 2}}},
    {"KeysTogetherAreAnActionOfTheirOwn",  // at the end only fire is fresh
     {"NOOP", "FIRE", "UP", "RIGHT", "LEFT", "DOWN", "UPRIGHT", "UPRIGHTFIRE"},
     {{kRight, 0}, {kUp, 1}, {kFire, 3}},
     {{2, 6}, {4, 7}, {103, 1}}},
    {"DigitsAreActionsByNumber",  // and there is no action 2
     {"0", "1"},
     {{{Key::kDigit, 1}, 0}, {{Key::kDigit, 2}, 60}, {kLeft, 210}},
     {{50, 1}, {200, 0}, {211, 0}}},
    {"AKeyWithoutAnActionHidesNoOther",
     {"stay", "left", "right"},
     {{kFire, 0}, {kRight, 1}},
     {{2, 2}}},
};

class SteeringScene : public testing::TestWithParam<Scene> {};

TEST_P(SteeringScene, IsPlayed) {
  const auto& [name, actions, pressed_at, taken] = GetParam();
  Steering steering(actions);
  EXPECT_EQ(steering.HasNames(), actions[0] != "0");
  auto press = pressed_at.begin();
  for (const auto& [now, action] : taken) {
    for (; press != pressed_at.end() && press->second <= now; ++press) {
      steering.OnPress(press->first, press->second);
    }
    EXPECT_EQ(steering.Take(now), action) << now;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SteeringScene, testing::ValuesIn(kScenes),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace starling::play
