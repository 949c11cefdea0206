// Learners killed again and again, also while they write checkpoints.
#include <optional>

#include "learner/storage/checkpoint.h"
#include "tests/network/invariants.h"
#include "tests/storms/storm_fixture.h"

namespace starling {
namespace {

class LearnerStorm : public StormTest {
 protected:
  std::filesystem::path checkpoints() const { return run() / "checkpoints"; }

  // Whether something is being written to the directory of checkpoints now.
  bool IsWriting() const {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(checkpoints(), ignored)) {
      const std::string name = entry.path().filename();
      if (name.ends_with(".tmp") || name.ends_with(".parts")) return true;
    }
    return false;
  }
  // A checkpoint under its final name is whole at any moment. A newer one may replace it meanwhile.
  void ExpectNoneTorn() const {
    for (const auto& path : learner::ListCheckpoints(checkpoints())) {
      try {
        learner::ReadCheckpoint(path);
      } catch (const std::exception& error) {
        EXPECT_FALSE(std::filesystem::exists(path)) << error.what();
      }
    }
  }
  // The status of a learner of a newer term than `after_term`, once it has applied a gradient.
  std::optional<json> AtWork(std::int64_t after_term) const {
    const json status = Status();
    if (!status.is_object() || status["term"] <= after_term) return std::nullopt;
    for (const json& row : status["actors"]) {
      if (row["alive"] && row["gradients"] > 0) return status;
    }
    return std::nullopt;
  }
  // Waits for a learner of a newer term at work; false if none comes.
  bool AwaitNext(Process& train, std::int64_t& term) {
    std::optional<json> status;
    Eventually([&] { return (status = AtWork(term)) || !train.Running(); });
    if (status) term = (*status)["term"];
    return status.has_value();
  }
  // The version that the newest learner resumed from, by its log.
  std::uint64_t ResumedVersion() const {
    const std::string log = Log(), before = "(version ";
    const std::size_t at = log.find(before, log.rfind("resuming from "));
    return at == std::string::npos ? 0 : std::stoull(log.substr(at + before.size()));
  }
  // The newest complete checkpoint.
  learner::Checkpoint Newest() const {
    auto good = learner::LastGood(checkpoints());
    EXPECT_TRUE(good.checkpoint);
    return good.checkpoint ? *std::move(good.checkpoint) : learner::Checkpoint{};
  }
  // Kills a process of the learner `kills` times, each time once there is a newer checkpoint, every
  // other time while the next one is being written.
  void Storm(Process& train, int kills) {
    std::int64_t term = 0;
    ASSERT_TRUE(AwaitNext(train, term)) << said_;
    std::optional<std::filesystem::path> last;
    for (int i = 0; i < kills && train.Running(); ++i) {
      // 1. Wait for a newer checkpoint, and for half of the next one in every other round.
      ASSERT_TRUE(Eventually([&] {
        const auto list = learner::ListCheckpoints(checkpoints());
        return (!list.empty() && list.back() != last) || !train.Running();
      }));
      const std::vector<Running> learners = Find("starling-learner");
      ASSERT_FALSE(learners.empty());
      const Running& victim = learners[random_() % learners.size()];
      if (i % 2 == 1) Eventually([&] { return IsWriting(); }, std::chrono::seconds(5));
      // 2. Kill; every file with a final name is whole.
      ASSERT_EQ(kill(victim.pid, SIGKILL), 0);
      writing_ += IsWriting() ? 1 : 0;
      const learner::Checkpoint newest = Newest();
      ExpectNoneTorn();
      // 3. The next learner resumes from the newest complete checkpoint.
      ASSERT_TRUE(AwaitNext(train, term)) << said_;
      if (newest.term < term) {
        EXPECT_GE(ResumedVersion(), newest.version);
      }
      const auto list = learner::ListCheckpoints(checkpoints());
      if (!list.empty()) last = list.back();
    }
    EXPECT_EQ(Interrupt(train)["learner"]["restarted"], kills);
    EXPECT_GT(writing_, 0);
    ExpectNoneTorn();
    EXPECT_FALSE(IsWriting()) << "something half written is left";
  }

  int writing_ = 0;  // kills that left something half written
};

TEST_F(LearnerStorm, FiftyLearners) {
  auto train = StartStorm({"actors.count=2", "checkpoint.every_steps=8000"});
  Storm(*train, 50);
  const RunFacts facts = CheckRun(run());
  EXPECT_THAT(facts.broken, testing::IsEmpty());
}

TEST_F(LearnerStorm, AnyShardOfALearner) {
  auto train = StartStorm({"actors.count=2", "checkpoint.every_steps=8000", "learner.shards=2"});
  Storm(*train, 15);
}

}  // namespace
}  // namespace starling
