#include "tools/sweep/grid.h"

#include <gmock/gmock.h>

namespace starling::sweep {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;

TEST(NamesTest, KeysAreAsShortAsTheyCanBeToldApart) {
  EXPECT_THAT(ShortKeys({"staleness.bound", "optimizer.lr"}), ElementsAre("bound", "lr"));
  EXPECT_THAT(ShortKeys({"net.kind", "optimizer.lr", "optimizer.kind"}),
              ElementsAre("net.kind", "lr", "optimizer.kind"));
}

TEST(NamesTest, ValuesKeepWhatAShellDoesNotMind) {
  EXPECT_EQ(ValueName("4"), "4");
  EXPECT_EQ(ValueName("-0.5"), "-0.5");
  EXPECT_EQ(ValueName("1e-05"), "1e-05");
  EXPECT_EQ(ValueName("\"unbounded\""), "unbounded");
  EXPECT_EQ(ValueName("\"minatar/breakout\""), "minatar-breakout");
  EXPECT_EQ(ValueName("[ 64, 32 ]"), "64-32");
  EXPECT_EQ(ValueName("[ \"conv 16 3x3\", \"relu\" ]"), "conv-16-3x3-relu");
  EXPECT_EQ(ValueName("\"\""), "empty");
}

TEST(NamesTest, LongValuesEndInAHashOfAllOfThem) {
  const std::string a = "\"" + std::string(60, 'a') + "b\"",
                    b = "\"" + std::string(60, 'a') + "c\"";
  EXPECT_THAT(ValueName(a), MatchesRegex("a{31}-[0-9a-f]{8}"));
  EXPECT_NE(ValueName(a), ValueName(b));
}

TEST(NamesTest, PointsAreNamedByWhatVaries) {
  EXPECT_EQ(PointName({}), "base");
  EXPECT_EQ(PointName({{"staleness.bound", "\"unbounded\""}, {"optimizer.lr", "0.001"}}),
            "bound=unbounded,lr=0.001");
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 20; ++i) many.emplace_back("env.key" + std::to_string(i), "12345678");
  EXPECT_EQ(PointName(many).size(), 160u);
}

}  // namespace
}  // namespace starling::sweep
