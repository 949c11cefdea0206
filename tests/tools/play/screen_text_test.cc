#include "tools/play/terminal.h"

#include <gmock/gmock.h>

#include "envs/registry.h"

namespace starling::play {
namespace {

using envs::Image;
using testing::ElementsAre;

const Image kRedOverBlue{1, 2, {255, 0, 0, 0, 0, 255}};

TEST(ColorLines, ACharacterIsTwoPixels) {
  EXPECT_THAT(ColorLines(kRedOverBlue, Palette::k24Bit, 1, 1),
              ElementsAre("\033[38;2;255;0;0m\033[48;2;0;0;255m▀\033[0m"));
  // 16 + 36 * 5 and 16 + 5.
  EXPECT_THAT(ColorLines(kRedOverBlue, Palette::k256, 1, 1),
              ElementsAre("\033[38;5;196m\033[48;5;21m▀\033[0m"));
}

int Blocks(const std::string& line) {
  int blocks = 0;
  for (std::size_t at = 0; (at = line.find("▀", at)) != std::string::npos; ++at) ++blocks;
  return blocks;
}

TEST(ColorLines, FillsTheRoomByAWholeFactorOrShrinks) {
  const struct {
    int width, height, columns, lines, shown_columns, shown_lines;
  } cases[] = {
      {84, 84, 84, 42, 84, 42},     // exactly
      {84, 84, 200, 50, 84, 42},    // 100 pixels are not twice 84
      {84, 84, 168, 84, 168, 84},   // twice
      {84, 84, 80, 22, 42, 21},     // 44 pixels: by 2
      {10, 10, 80, 22, 40, 20},     // four times
      {160, 210, 100, 50, 54, 35},  // 210 / 100: by 3
      {3, 1, 9, 4, 9, 2},           // three times: 9 x 3 pixels
      {50, 50, 1, 1, 1, 1},
  };
  for (const auto& c : cases) {
    const Image image{c.width, c.height,
                      std::vector<std::uint8_t>(static_cast<std::size_t>(3 * c.width * c.height))};
    const auto lines = ColorLines(image, Palette::k24Bit, c.columns, c.lines);
    EXPECT_EQ(static_cast<int>(lines.size()), c.shown_lines) << c.width << " in " << c.columns;
    for (const std::string& line : lines) EXPECT_EQ(Blocks(line), c.shown_columns);
  }
}

std::unique_ptr<envs::FrameEnvs> Fresh(const std::string& name) {
  auto frames = envs::MakeFrames({.name = name}, 1, {.seed = 1});
  const std::int32_t reset = envs::FrameEnvs::kReset;
  frames->Advance({&reset, 1});
  return frames;
}

TEST(PlainLines, ACellOfAGridIsALetter) {
  const auto lines = PlainLines(*Fresh("minatar/breakout"), 20, 10);
  ASSERT_EQ(lines.size(), 10u);
  for (const int row : {1, 2})
    EXPECT_EQ(lines[static_cast<std::size_t>(row)], std::string(20, 'd')) << "bricks";
  EXPECT_EQ(lines[9], "........aa..........") << "the paddle in column 4";
  EXPECT_EQ(lines[0], std::string(20, '.'));
  const auto large = PlainLines(*Fresh("minatar/breakout"), 80, 22);
  ASSERT_EQ(large.size(), 20u);
  EXPECT_EQ(large[19].size(), 40u);
}

TEST(PlainLines, APictureIsCharactersAsDenseAsItIsBright) {
  const auto lines = PlainLines(*Fresh("arcade/pong"), 84, 42);
  ASSERT_EQ(lines.size(), 42u);
  // Rows 44 and 45: the ball, white, and the paddles, 0.75 * 255 = 191 of 255: 6.7 of 9.
  EXPECT_EQ(lines[22], std::string(8, ' ') + "##" + std::string(31, ' ') + "@@" +
                           std::string(31, ' ') + "##" + std::string(8, ' '));
}

TEST(LineScreen, SendsWhatDiffers) {
  LineScreen screen;
  EXPECT_EQ(screen.Update({"one", "two"}, 80, 24),
            "\033[0m\033[2J\033[1;1Hone\033[K\033[2;1Htwo\033[K");
  EXPECT_EQ(screen.Update({"one", "two"}, 80, 24), "");
  EXPECT_EQ(screen.Update({"one", "2"}, 80, 24), "\033[2;1H2\033[K");
  EXPECT_EQ(screen.Update({"one"}, 80, 24), "\033[2;1H\033[K") << "and takes away";
  EXPECT_EQ(screen.Update({"one"}, 80, 24), "");
}

class DetectPaletteTest : public testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("NO_COLOR");
    ::unsetenv("COLORTERM");
  }
};

TEST_F(DetectPaletteTest, FollowsTheEnvironment) {
  EXPECT_EQ(DetectPalette(true), Palette::k256);
  ::setenv("COLORTERM", "truecolor", 1);
  EXPECT_EQ(DetectPalette(true), Palette::k24Bit);
  EXPECT_EQ(DetectPalette(false), Palette::kNone) << "no half block without UTF-8";
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(DetectPalette(true), Palette::kNone);
  ::setenv("NO_COLOR", "", 1);
  EXPECT_EQ(DetectPalette(true), Palette::k24Bit) << "empty is not set (no-color.org)";
}

}  // namespace
}  // namespace starling::play
