// Actors killed as fast as they come back.
#include <map>
#include <set>

#include "tests/storms/storm_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;
using testing::Not;

class ActorStorm : public StormTest {
 protected:
  static constexpr int kKills = 200;
  static constexpr auto kEvery = std::chrono::milliseconds(200);

  // Sends kill -9 to one of the actors.
  void KillOne() {
    std::vector<Running> actors = Find("starling-actor");
    // A process that is dying is still listed.
    std::erase_if(actors, [&](const Running& actor) { return killed_.contains(actor.pid); });
    if (actors.empty()) return;
    const Running& victim = actors[random_() % actors.size()];
    const int slot = std::stoi(victim.After("--slot"));
    if (kill(victim.pid, SIGKILL) != 0) return;
    ++kills_;
    // A process killed before it was at work prolongs the outage of its slot.
    outages_.try_emplace(slot, Clock::now());
    killed_.insert(victim.pid);
  }
  // A slot is served again when the learner has accepted a gradient from a process there that was
  // not killed. The page changes five times a second, so the figures are up to 0.2 s too large.
  void LookForReplacements() {
    const json status = Status();
    if (!status.is_object()) return;
    for (const json& row : status["actors"]) {
      const auto outage = outages_.find(row["slot"].get<int>());
      if (outage == outages_.end() || !row["alive"] || killed_.contains(row["pid"].get<pid_t>()) ||
          row["gradients"] == 0) {
        continue;
      }
      seconds_.push_back(SecondsSince(outage->second));
      outages_.erase(outage);
    }
  }

  int kills_ = 0;
  std::set<pid_t> killed_;
  std::map<int, Clock::time_point> outages_;  // since when, by slot
  std::vector<double> seconds_;               // that they took
};

TEST_F(ActorStorm, AreReplacedAndLearnAllTheSame) {
  auto train = StartStorm({"actors.count=8"});
  ASSERT_TRUE(AwaitActors(*train, 8));
  auto next = Clock::now();
  while (kills_ < kKills && train->Running()) {
    if (Clock::now() >= next) {
      KillOne();
      next += kEvery;
    }
    LookForReplacements();
  }
  EXPECT_TRUE(Eventually([&] {
    LookForReplacements();
    return outages_.empty() || !train->Running();
  }));
  EndIt(*train);

  Tell("actors_replaced", seconds_);
  EXPECT_EQ(kills_, kKills);
  const json summary = Summary();
  EXPECT_EQ(summary["learner"]["restarted"], 0);
  EXPECT_GE(summary["actors"]["restarted"], kKills);
  EXPECT_THAT(Log(), Not(HasSubstr(" error ")));
  const auto eval = Start("starling", {"eval", run().string(), "--episodes", "200", "--json"});
  ASSERT_EQ(WaitFor(*eval), 0) << said_;
  EXPECT_GT(json::parse(eval->out())["mean_return"], 0.9);  // +1 caught, -1 missed
}

}  // namespace
}  // namespace starling
