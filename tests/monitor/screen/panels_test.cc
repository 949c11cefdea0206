#include "monitor/screen/screen.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "core/config/config.h"

namespace starling::monitor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using State = ActorRow::State;

ActorRow Row(int slot, double speed = 40'000, State state = State::kAlive) {
  return {.slot = slot,
          .state = state,
          .version = 12'345,
          .lag = 3,
          .steps_per_second = speed,
          .waiting = 0.125,
          .restarts = 0};
}

std::vector<ActorRow> Rows(int count) {
  std::vector<ActorRow> rows;
  for (int slot = 0; slot < count; ++slot) rows.push_back(Row(slot, 40'000 + slot));
  return rows;
}

std::vector<std::string> Drawn(const std::vector<ActorRow>& rows, int width, int height,
                               bool utf8 = true) {
  Canvas canvas(width, height);
  DrawActorTable(canvas, {0, 0, width, height}, rows, utf8);
  return canvas.Lines(false);
}

std::vector<int> Slots(const std::vector<ActorRow>& rows) {
  std::vector<int> slots;
  for (const ActorRow& row : rows) slots.push_back(row.slot);
  return slots;
}

TEST(ActorTableTest, ARowForEach) {
  ActorRow dead = Row(1, 0, State::kDead);
  dead.steps_per_second.reset();
  dead.waiting.reset();
  dead.restarts = 2;
  const ActorRow fresh{.slot = 2, .state = State::kStarting};
  EXPECT_THAT(Drawn({Row(0), dead, fresh}, 53, 5),
              ElementsAre("actor state      version   lag steps/s waits restarts",
                          "    0 alive        12345     3   40.0k  12 %        0",
                          "    1 dead         12345     3       -     -        2",
                          "    2 starting         -     -       -     -        0", ""));
}

TEST(ActorTableTest, LargeNumbersKeepTheirColumns) {
  ActorRow row = Row(1023, 1.5e9);
  row.version = 123'456'789'012;
  row.lag = 1'234'567;
  row.restarts = 12'345;
  EXPECT_THAT(Drawn({row}, 53, 2)[1], " 1023 alive         123G 1.23M   1.50G  12 %    12345");
}

TEST(ActorTableTest, AllBySlotWhileTheyFit) {
  auto rows = Rows(6);
  rows[4].state = State::kDead;
  EXPECT_THAT(Slots(InOrder(rows, 6)), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(ActorTableTest, ThoseThatDeserveALookFirst) {
  auto rows = Rows(9);
  rows[8].state = State::kDead;
  rows[7].state = State::kStarting;
  rows[6].state = State::kSilent;
  rows[5].steps_per_second = 15'000;  // less than half of the median
  rows[4].steps_per_second = 10'000;
  rows[3].steps_per_second = 30'000;  // slow, but not so slow
  EXPECT_THAT(Slots(InOrder(rows, 5)), ElementsAre(8, 6, 7, 4, 5, 0, 1, 2, 3));
}

TEST(ActorTableTest, TheOthersAreSummedUp) {
  auto rows = Rows(16);
  rows[12].state = State::kDead;
  rows[11].state = State::kStarting;
  rows[11].steps_per_second.reset();
  const auto lines = Drawn(rows, 53, 4);
  EXPECT_THAT(lines[1], HasSubstr("   12 dead "));
  EXPECT_THAT(lines[2], HasSubstr("   11 starting "));
  EXPECT_EQ(lines[3], " … and 14 more: 14 alive, 40.0k to 40.0k steps/s");
  rows[10].steps_per_second.reset();  // not known yet, as after a restart of the learner
  EXPECT_EQ(Drawn(rows, 53, 4)[3], " … and 14 more: 14 alive, 40.0k to 40.0k steps/s");
  EXPECT_EQ(Drawn(Rows(16), 53, 4, false)[3], " ...and 14 more: 14 alive, 40.0k to 40.0k steps/s");
}

TEST(StalenessPanelTest, ABarForEachValueUpToTheBound) {
  const StalenessBars bars = ArrangeStaleness({50, 30, 20}, 4, 40);
  EXPECT_THAT(bars.bins.counts, ElementsAre(50, 30, 20, 0, 0));
  EXPECT_EQ(bars.bins.Share(1), 0.3);
  EXPECT_EQ(bars.bins.width, 1u);
  EXPECT_EQ(bars.columns, 6);
  EXPECT_EQ(bars.bound_column, 30);
  EXPECT_FALSE(bars.bins.open);
}

TEST(StalenessPanelTest, UnboundedShowsWhereAlmostAllIs) {
  std::vector<std::uint64_t> histogram(200, 0);
  histogram[0] = 600;
  histogram[5] = 398;
  histogram[199] = 2;
  const StalenessBars bars = ArrangeStaleness(histogram, kUnbounded, 41);
  EXPECT_THAT(bars.bins.counts, ElementsAre(600, 0, 0, 0, 0, 398, 0, 2));
  EXPECT_TRUE(bars.bins.open) << "the last holds what is more";
  EXPECT_EQ(bars.bound_column, -1);
}

TEST(StalenessPanelTest, AFarBoundIsNotShown) {
  EXPECT_EQ(ArrangeStaleness({50, 50}, 1000, 40).bound_column, -1);
  EXPECT_EQ(ArrangeStaleness({50, 50}, 1000, 40).bins.counts.size(), 6u) << "as many as have room";
}

TEST(StalenessPanelTest, ManyValuesShareABar) {
  const std::vector<std::uint64_t> histogram(4097, 1);
  for (int columns = 1; columns < 300; ++columns) {
    for (const std::uint64_t bound :
         {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{4096}, kUnbounded}) {
      const StalenessBars bars = ArrangeStaleness(histogram, bound, columns);
      EXPECT_GE(bars.columns, 1);
      EXPECT_LE(static_cast<int>(bars.bins.counts.size()) * bars.columns, std::max(1, columns - 1));
      EXPECT_EQ(bars.bins.total(), histogram.size());
    }
  }
}

}  // namespace
}  // namespace starling::monitor
