// The properties of every simulation: nothing lost, nothing over the bound, the same bits again,
// and a journal whose replay gives the same weights.
#include <gmock/gmock.h>

#include <map>

#include "core/error.h"
#include "core/file.h"
#include "tests/tools/simulate/small_fleet.h"
#include "tools/replay/replay.h"

namespace starling::simulate {
namespace {

using Words = std::vector<std::string>;

// Times that hardly ever coincide, a straggler, and late pushes.
Words Restless(const Words& more) {
  Words words = {
      "actors.count=5",          "simulate.compute_spread=0.4", "simulate.network_ms=1.5",
      "simulate.receive_ms=0.3", "simulate.refresh_ms=0.2",     "simulate.merge_ms=0.4",
      "simulate.stragglers=1",   "simulate.straggler_factor=6", "simulate.delayed_share=0.1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

struct Kind {
  const char* name;
  Words settings;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

const Kind kKinds[] = {
    {"Free", {}},
    {"FourAhead", {"updates.in_flight=4"}},
    {"Synchronous", {"staleness.bound=0", "optimizer.kind=adam"}},
    {"Bounded", {"staleness.bound=2", "updates.gradients=auto"}},
    {"BoundedTwoAhead", {"staleness.bound=3", "updates.gradients=2", "updates.in_flight=2"}},
    {"DroppedWhatIsLate", {"staleness.bound=1", "staleness.on_exceed=drop", "updates.in_flight=2"}},
    {"Damped", {"staleness.damping=inverse", "learner.threads=3"}},
    {"Remembering", {"net.kind=layers", "net.layers=[\"linear 8\", \"tanh\", \"lstm 8\"]"}},
    {"Impatient", {"staleness.bound=0", "staleness.deadline_s=0.03"}},
};

class VirtualRunTest : public testing::TestWithParam<Kind> {};

TEST_P(VirtualRunTest, LosesNothingAndKeepsTheBound) {
  const SmallFleet fleet(300, Restless(GetParam().settings));
  const learner::Counters& counters = fleet.counters();
  EXPECT_EQ(counters.received, counters.applied + counters.dropped_total() + counters.in_flight());
  EXPECT_LE(counters.in_flight(), static_cast<std::uint64_t>(5 * fleet.config.updates.in_flight))
      << "held at the end";
  EXPECT_GE(counters.applied, 300u);
  EXPECT_EQ(counters.staleness.total(), counters.applied);
  EXPECT_LE(counters.staleness.max(), fleet.config.staleness.bound);
  EXPECT_EQ(fleet.Journal<learner::ArrivalRecord>().size(), counters.received);
  EXPECT_EQ(fleet.Journal<learner::UpdateRecord>().size(), counters.updates);
  EXPECT_EQ(fleet.published_ms.size(), counters.updates);
  // All of the actors' time is counted, except for unrolls in progress at the end: 0.1 s each at
  // most.
  EXPECT_NEAR(fleet.time.actors.total(), 5 * fleet.published_ms.back() / 1000, 5 * 0.1);
  EXPECT_LE(fleet.time.learner.lanes, fleet.published_ms.back() / 1000 + 1e-9);
}

TEST_P(VirtualRunTest, IsTheSameAgainBitForBitWithAnyNumberOfThreads) {
  const Words settings = Restless(GetParam().settings);
  const SmallFleet first(150, settings, 1), again(150, settings, 3);
  for (const char* file : {"journal/t0001-s000000", "metrics.jsonl"}) {
    EXPECT_EQ(ReadFile(first.dir / file), ReadFile(again.dir / file)) << file;
  }
  const auto last = learner::ListCheckpoints(first.dir / "checkpoints").back().filename();
  EXPECT_EQ(ReadFile(first.dir / "checkpoints" / last.string()),
            ReadFile(again.dir / "checkpoints" / last.string()));
}

TEST_P(VirtualRunTest, IsReplayedToTheSameBits) {
  Words settings = Restless(GetParam().settings);
  settings.emplace_back("learner.hash_every=7");
  const SmallFleet fleet(100, settings);
  EXPECT_EQ(replay::RunReplay({.run_dir = fleet.dir.path()}), kExitDone);
}

INSTANTIATE_TEST_SUITE_P(All, VirtualRunTest, testing::ValuesIn(kKinds),
                         [](const auto& test) { return test.param.name; });

TEST(VirtualRun, AnotherSeedIsAnotherRun) {
  const SmallFleet one(50, Restless({})), other(50, Restless({"run.seed=2"}));
  EXPECT_NE(one.published_ms, other.published_ms);
}

// Times and games have separate random streams: the first gradients are the same.
TEST(VirtualRun, TimesChangeTheOrderAndNotTheGames) {
  const SmallFleet quick(5, Restless({})), slow(5, Restless({"simulate.compute_ms=100"}));
  const auto norms = [](const SmallFleet& fleet) {
    std::map<std::uint32_t, double> first;
    for (const auto& arrival : fleet.Journal<learner::ArrivalRecord>()) {
      first.emplace(arrival.slot, arrival.norm);
    }
    return first;
  };
  const auto a = norms(quick), b = norms(slow);
  for (const auto& [slot, norm] : a) {
    const auto other = b.find(slot);
    EXPECT_TRUE(other == b.end() || other->second == norm) << slot;
  }
}

}  // namespace
}  // namespace starling::simulate
