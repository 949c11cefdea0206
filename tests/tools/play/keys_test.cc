#include "tools/play/keys.h"

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

TEST(Steering, ATapInASlowGameIsOneStep) {
  Steering steering(kGrid);
  EXPECT_EQ(steering.Take(0), 0);
  steering.OnPress(kLeft, 10);
  EXPECT_EQ(steering.Take(125), 1);
  EXPECT_EQ(steering.Take(250), 0);
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

TEST(Steering, APressWaitsForItsStepButNotForEver) {
  Steering steering(kGrid);
  steering.OnPress(kUp, 0);
  EXPECT_EQ(steering.Take(400), 2);
  steering.OnPress(kUp, 1000);
  EXPECT_EQ(steering.Take(1401), 0);
}

TEST(Steering, TwoTapsBetweenStepsAreTwoSteps) {
  Steering steering(kGrid);
  steering.OnPress(kFire, 0);
  steering.OnPress(kLeft, 20);
  EXPECT_EQ(steering.Take(125), 5);
  EXPECT_EQ(steering.Take(250), 1);
  EXPECT_EQ(steering.Take(375), 0);
}

TEST(Steering, TheOppositeKeyEndsADirection) {
  Steering steering(kGrid);
  steering.OnPress(kLeft, 0);
  steering.OnPress(kRight, 1);
  EXPECT_EQ(steering.Take(2), 3);
  EXPECT_EQ(steering.Take(3), 3);
  steering.OnPress(kDown, 4);
  steering.OnPress(kUp, 5);
  EXPECT_EQ(steering.Take(110), 2);
}

TEST(Steering, KeysTogetherWhereThereIsSuchAnAction) {
  Steering steering({"NOOP", "FIRE", "UP", "RIGHT", "LEFT", "DOWN", "UPRIGHT", "UPRIGHTFIRE"});
  steering.OnPress(kRight, 0);
  steering.OnPress(kUp, 1);
  EXPECT_EQ(steering.Take(2), 6);
  steering.OnPress(kFire, 3);
  EXPECT_EQ(steering.Take(4), 7);
  EXPECT_EQ(steering.Take(103), 1) << "only fire is fresh";
}

TEST(Steering, DigitsAreActionsByNumber) {
  Steering steering({"0", "1"});
  EXPECT_FALSE(steering.HasNames());
  steering.OnPress({Key::kDigit, 1}, 0);
  EXPECT_EQ(steering.Take(50), 1);
  steering.OnPress({Key::kDigit, 2}, 60);
  EXPECT_EQ(steering.Take(200), 0) << "there is no action 2";
  steering.OnPress(kLeft, 210);
  EXPECT_EQ(steering.Take(211), 0);
}

TEST(Steering, AKeyWithoutAnActionDoesNotHideAnother) {
  Steering steering({"stay", "left", "right"});
  EXPECT_TRUE(steering.HasNames());
  steering.OnPress(kFire, 0);
  steering.OnPress(kRight, 1);
  EXPECT_EQ(steering.Take(2), 2);
}

}  // namespace
}  // namespace starling::play
