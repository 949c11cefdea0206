// The closed form of mean staleness, beside simulated fleets.
#include "tools/simulate/expected_staleness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/tools/simulate/small_fleet.h"

namespace starling::simulate {
namespace {

Config FleetWith(const std::vector<std::string>& settings) {
  return ParseConfig(
      "[env]\nname = \"catch\"\n[net]\nkind = \"mlp\"\n[actors]\nunroll = 2\n"
      "[simulate]\ncompute_ms = 10\nrefresh_ms = 0\nnetwork_ms = 0\n"
      "receive_ms = 0\napply_ms = 0\nmerge_ms = 0\n",
      "theory.toml", settings);
}

TEST(ExpectedStaleness, WithOneGrantTheOthersUpdateOnceEach) {
  EXPECT_EQ(ExpectedStaleness(FleetWith({"actors.count=8", "updates.in_flight=1"})), 7);
  EXPECT_EQ(ExpectedStaleness(FleetWith({"actors.count=8", "updates.in_flight=1",
                                         "updates.gradients=4", "simulate.stragglers=3"})),
            1);
  EXPECT_EQ(ExpectedStaleness(FleetWith({"actors.count=1", "updates.in_flight=1"})), 0);
}

// 4 actors in 10 ms: 0.4 gradients a ms. They compute for 10 ms, and 2 x 3 ms are on the way. The
// network thread takes 1 ms and is busy for 0.4 of the time: 0.4 / (2 x 0.6) = 1/3 ms of waiting.
TEST(ExpectedStaleness, WithManyGrantsEveryActorAlwaysComputes) {
  const std::vector<std::string> many = {"actors.count=4", "updates.in_flight=8"};
  EXPECT_EQ(ExpectedStaleness(FleetWith(many)), 4) << "and not 3: it begins before its own update";
  auto far = many;
  far.insert(far.end(), {"simulate.network_ms=3", "simulate.receive_ms=1"});
  EXPECT_DOUBLE_EQ(ExpectedStaleness(FleetWith(far)).value(), 4 + 0.4 * (6 + 1 + 1.0 / 3));
  // 0.4 x 3 > 1: the learner limits, and all grants are spent.
  far.back() = "simulate.receive_ms=3";
  EXPECT_EQ(ExpectedStaleness(FleetWith(far)), 4 * 8 - 1);
}

// Two actors always compute, 0.1 gradients a ms each; the other two, five times slower, 0.02. The
// way takes 2 ms: 0.24 (10 + 2) and 0.24 (50 + 2) updates, for five gradients of the first kind and
// one of the second.
TEST(ExpectedStaleness, EachKindOfActorsByItself) {
  const std::vector<std::string> unequal = {"actors.count=4", "updates.in_flight=4",
                                            "simulate.stragglers=2", "simulate.straggler_factor=5",
                                            "simulate.network_ms=1"};
  EXPECT_NEAR(ExpectedStaleness(FleetWith(unequal)).value(), 0.24 * (5.0 / 6 * 12 + 1.0 / 6 * 52),
              1e-9);
}

TEST(ExpectedStaleness, WhoIsAlwaysTooLateDoesNotCount) {
  EXPECT_EQ(
      ExpectedStaleness(FleetWith({"actors.count=8", "updates.in_flight=1", "simulate.stragglers=3",
                                   "simulate.straggler_factor=20", "staleness.deadline_s=0.1"})),
      4);
}

TEST(ExpectedStaleness, ADelayIsKnownAndABoundIsNot) {
  EXPECT_EQ(ExpectedStaleness(FleetWith({"staleness.delay=3", "actors.count=8"})), 3);
  EXPECT_EQ(ExpectedStaleness(FleetWith({"staleness.bound=3", "actors.count=8"})), std::nullopt);
}

struct Fleet {
  const char* name;
  std::vector<std::string> settings;
  double tolerance = 0.02;
};

class NineFleets : public testing::TestWithParam<Fleet> {};

// Of the first updates gradients are fresher, so there are many.
TEST_P(NineFleets, IsAsTheyAreSimulated) {
  std::vector<std::string> settings = GetParam().settings;
  settings.insert(settings.end(), {"simulate.compute_spread=0.3", "simulate.refresh_ms=0.5"});
  const SmallFleet fleet(6'000, settings);
  const double measured = fleet.counters().staleness.mean();
  const double expected = ExpectedStaleness(fleet.config).value();
  EXPECT_NEAR(measured, expected, GetParam().tolerance * expected);
  RecordProperty("measured", fmt::format("{:.2f}", measured));
  RecordProperty("expected", fmt::format("{:.2f}", expected));
}

INSTANTIATE_TEST_SUITE_P(
    Some, NineFleets,
    testing::Values(
        Fleet{"OneGrantEachAndStragglers",
              {"actors.count=16", "updates.in_flight=1", "simulate.network_ms=2",
               "simulate.stragglers=4", "simulate.straggler_factor=5"}},
        Fleet{"OneGrantEachFourInAnUpdate",
              {"actors.count=16", "updates.in_flight=1", "updates.gradients=4",
               "simulate.network_ms=1", "simulate.apply_ms=0.2"}},
        Fleet{"TwoGrantsNearby",
              {"actors.count=16", "updates.in_flight=2", "simulate.network_ms=0.1",
               "simulate.receive_ms=0.1", "simulate.apply_ms=0.1"}},
        Fleet{"TwoGrantsFarAway",
              {"actors.count=8", "updates.in_flight=2", "simulate.network_ms=3",
               "simulate.receive_ms=0.2", "simulate.apply_ms=0.3"},
              0.1},
        Fleet{"TwoGrantsAndAWayThatIsTooLong",
              {"actors.count=8", "updates.in_flight=2", "simulate.network_ms=20",
               "simulate.apply_ms=0.3"}},
        Fleet{"FourGrantsAndStragglers",
              {"actors.count=16", "updates.in_flight=4", "simulate.network_ms=2",
               "simulate.stragglers=4", "simulate.straggler_factor=5", "simulate.apply_ms=0.4"},
              0.1},
        Fleet{"TwoGrantsThatOnlyTheFastRunOutOf",
              {"actors.count=8", "updates.in_flight=2", "simulate.network_ms=8",
               "simulate.stragglers=4", "simulate.straggler_factor=20", "simulate.apply_ms=0.1"},
              0.1},
        Fleet{"FourGrantsFourInAnUpdate",
              {"actors.count=32", "updates.in_flight=4", "updates.gradients=4",
               "simulate.network_ms=2", "simulate.apply_ms=0.5", "simulate.merge_ms=0.1"},
              0.1},
        Fleet{"FourGrantsAndABusyLearner",
              {"actors.count=32", "updates.in_flight=4", "simulate.receive_ms=0.5",
               "simulate.apply_ms=0.2"},
              0.1}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace starling::simulate
