// Actors killed as fast as they come back.
#include <chrono>
#include <set>

#include "tests/storms/storm_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;
using testing::Not;

class ActorStorm : public StormTest {
 protected:
  static constexpr std::size_t kKills = 200;
  static constexpr auto kEvery = std::chrono::milliseconds(200);

  // Sends kill -9 to one of the actors.
  void KillOne() {
    std::vector<Running> actors = Find("starling-actor");
    // A process that is dying is still listed.
    std::erase_if(actors, [&](const Running& actor) { return killed_.contains(actor.pid); });
    if (actors.empty()) return;
    const Running& victim = actors[random_() % actors.size()];
    if (kill(victim.pid, SIGKILL) != 0) return;
    killed_.insert(victim.pid);
    out_.insert(std::stoi(victim.After("--slot")));
  }
  // A slot is served again when the learner has accepted a gradient from a process there that was
  // not killed.
  void LookForReplacements() {
    const json status = Status();
    if (!status.is_object()) return;
    for (const json& row : status["actors"]) {
      if (row["alive"] && !killed_.contains(row["pid"].get<pid_t>()) && row["gradients"] > 0) {
        out_.erase(row["slot"].get<int>());
      }
    }
  }

  std::set<pid_t> killed_;
  std::set<int> out_;  // slots
};

TEST_F(ActorStorm, AreReplacedAndLearnAllTheSame) {
  auto train = StartStorm({"actors.count=8"});
  ASSERT_TRUE(AwaitActors(*train, 8));
  auto next = std::chrono::steady_clock::now();
  while (killed_.size() < kKills && train->Running()) {
    if (std::chrono::steady_clock::now() >= next) {
      KillOne();
      next += kEvery;
    }
    LookForReplacements();
  }
  EXPECT_TRUE(Eventually([&] {
    LookForReplacements();
    return out_.empty() || !train->Running();
  }));
  const json summary = Interrupt(*train);
  EXPECT_EQ(killed_.size(), kKills);
  EXPECT_EQ(summary["learner"]["restarted"], 0);
  EXPECT_GE(summary["actors"]["restarted"], kKills);
  EXPECT_THAT(Log(), Not(HasSubstr(" error ")));
  const auto eval = Start("starling", {"eval", run().string(), "--episodes", "200", "--json"});
  ASSERT_EQ(WaitFor(*eval), 0) << said_;
  EXPECT_GT(json::parse(eval->out())["mean_return"], 0.9);  // +1 caught, -1 missed
}

}  // namespace
}  // namespace starling
