// A real run, done again in one process to the same bits: `starling replay`.

#include "core/file.h"
#include "learner/storage/checkpoint.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class ReplayTest : public RunTest {
 protected:
  int Replay(const Strings& more = {}) {
    replay_ = Start("starling", Plus({"replay", run().string()}, more));
    return WaitFor(*replay_);
  }
  void ExpectTheSameBits() {
    EXPECT_EQ(Replay(), 0) << said_;
    EXPECT_THAT(
        replay_->out(),
        ContainsRegex("replayed [0-9,]+ versions in .* s: [0-9,]+ hashes agree, weights and "
                      "optimizer are those of checkpoints/t.*safetensors, bit for bit"));
  }

  // The journal of a run whose learner started once.
  std::filesystem::path Segment() const { return run() / "journal" / "t0001-s000000"; }

  std::unique_ptr<Process> replay_;
};

struct Kind {
  const char* name;
  Strings settings;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class ReplayOfTest : public ReplayTest, public testing::WithParamInterface<Kind> {};

TEST_P(ReplayOfTest, EndsOnTheSameWeights) {
  ASSERT_EQ(Train(Plus({"run.steps=24000", "actors.count=3"}, GetParam().settings)), 0) << said_;
  ExpectTheSameBits();
}

const Kind kKinds[] = {
    {"Free", {}},
    {"FourAheadOfTwo", {"actors.count=2", "updates.in_flight=4"}},
    {"Synchronous", {"staleness.bound=0", "optimizer.kind=adam"}},
    {"MergedUnderABound",
     {"staleness.bound=2", "updates.gradients=2", "optimizer.scale_lr=linear"}},
    {"DroppedWhatIsLate", {"staleness.bound=1", "staleness.on_exceed=drop", "updates.in_flight=2"}},
    {"DampedInThreeLanes", {"staleness.damping=inverse", "learner.threads=3"}},
    {"MemoryAndTimeLimit",
     {"net.kind=layers", "net.layers=[\"linear 12\", \"layer_norm\", \"tanh\", \"lstm 8\"]",
      "env.time_limit=5"}},
    {"ResidualGruAndCritic",
     {"net.kind=layers", "net.critic=separate",
      "net.layers=[\"conv 8 3x3 same\", \"max_pool 3x3/2 same\", \"residual 3x3\", \"relu\", "
      "\"linear 16\", \"gru 8\"]"}},
    {"Box", {"env.name=control/reach", "net.kind=mlp"}},
    {"SquashedBox",
     {"env.name=control/reach", "net.kind=mlp", "net.critic=separate", "env.action_bounds=tanh",
      "net.deviation=predicted", "loss.kind=ppo", "updates.epochs=2", "updates.minibatches=2"}},
    {"MaskedChoices", {"env.name=control/steer", "net.kind=mlp", "actors.groups=2"}},
    {"Entries",
     {"env.name=grid/courier", "net.entries=[\"map: conv 4 3x3, relu, linear 8, relu\"]",
      "net.critic=separate", "loss.kind=ppo", "updates.minibatches=2"}},
    {"SamplesAgain",
     {"loss.kind=ppo", "updates.epochs=2", "updates.minibatches=40", "updates.shuffle=samples"}},
    {"Normalized",
     {"env.name=control/reach", "net.kind=mlp", "env.normalize_observations=true",
      "env.normalize_rewards=true", "updates.gradients=2", "learner.threads=3"}},
    {"NormalizedAgain",
     {"env.name=grid/courier", "env.normalize_observations=true", "loss.kind=ppo",
      "updates.epochs=2", "updates.minibatches=2"}},
    {"NormalizedPictures", {"env.normalize_observations=true", "env.stack=2"}},
    {"AtAPace", {"env.step_ms=1", "env.step_jitter=0.5"}},
    {"OverTcp", {"wire.endpoint=tcp://127.0.0.1:0"}},
    {"InBf16", {"wire.gradient=bf16", "wire.weights=bf16"}},
};
INSTANTIATE_TEST_SUITE_P(All, ReplayOfTest, testing::ValuesIn(kKinds),
                         [](const auto& test) { return test.param.name; });

// The learner adds the gradients of a large net as they come, a replay all at once.
TEST_F(ReplayTest, OfALargeNetAtBoundZero) {
  ASSERT_EQ(Train({"run.steps=1200", "actors.count=3", "staleness.bound=0", "net.kind=mlp",
                   "net.hidden=[1024, 1024]", "net.init=fan_in", "learner.hash_every=10"}),
            0)
      << said_;
  ExpectTheSameBits();
}

// A third of the gradients: where it is the first of an unroll, the next brings steps and sums.
TEST_F(ReplayTest, OfARunWhoseLargeGradientsWereRefused) {
  ASSERT_EQ(Train({"run.steps=24000", "actors.count=3", "env.name=control/reach", "net.kind=mlp",
                   "env.normalize_observations=true", "loss.kind=ppo", "updates.minibatches=2",
                   "optimizer.clip_norm=1000", "updates.max_norm=6"}),
            0)
      << said_;
  EXPECT_GT(Summary()["gradients"]["dropped"].value("norm_too_large", 0), 20);
  ExpectTheSameBits();
}

TEST_F(ReplayTest, OfARunWhoseActorAndLearnerWereKilled) {
  auto train = StartTrain({Steps(kEndless), "actors.count=2", "checkpoint.every_steps=8000"});
  ASSERT_TRUE(AwaitCheckpoint(*train));
  ASSERT_TRUE(OutlivesAnActorAndTheLearner());
  EXPECT_EQ(Interrupt(*train)["learner"]["restarted"], 1);
  ExpectTheSameBits();
}

TEST_F(ReplayTest, OfARunWhoseOldJournalWasRemoved) {
  ASSERT_EQ(Train({"run.steps=8000", "actors.count=2", "staleness.bound=0", "journal.keep=0",
                   "checkpoint.keep=2", "checkpoint.every_steps=1000"}),
            0);
  ASSERT_TRUE(std::filesystem::exists(Segment()));
  ASSERT_EQ(WaitFor(*Start("starling", ResumeWords({"run.steps=16000"}))), 0) << said_;
  EXPECT_FALSE(std::filesystem::exists(Segment()));
  EXPECT_THAT(Log(), ContainsRegex("removed 1 segment of the journal \\(.*B\\), .*B are left"));
  ExpectTheSameBits();
  EXPECT_THAT(replay_->out(), HasSubstr("the replay begins at checkpoints/t0002-v"));
  // With its newest checkpoint alone there is nothing to prove.
  ASSERT_EQ(WaitFor(*Start("starling", {"prune", run().string(), "--set", "checkpoint.keep=1"})),
            0);
  EXPECT_EQ(Replay(), 1);
  EXPECT_THAT(said_, HasSubstr("nothing was compared: no update follows version 50"));
}

TEST_F(ReplayTest, OfARunThatWentOn) {
  ASSERT_EQ(Train({"run.steps=8000", "actors.count=2"}), 0);
  for (const char* further :
       {"run.steps=16000", "run.steps=24000"}) {  // the entropy's line changes
    ASSERT_EQ(WaitFor(*Start("starling", ResumeWords({further}))), 0) << said_;
    ExpectTheSameBits();
  }
  const Strings fewer = {"run.steps=32000", "actors.envs_per_actor=8"};
  ASSERT_EQ(WaitFor(*Start("starling", ResumeWords(fewer))), 0) << said_;
  ExpectTheSameBits();
}

TEST_F(ReplayTest, WhatWasNotComparedIsNotCalledTheSame) {
  ASSERT_EQ(Train({"run.steps=8000", "actors.count=2"}), 0);
  const std::filesystem::path newest = run() / "checkpoints" / Checkpoints().back();
  const std::string whole = ReadFile(newest), journal = ReadFile(Segment());
  std::string damaged = whole;
  damaged[damaged.size() / 2] ^= 1;
  WriteFileAtomically(newest, damaged);
  EXPECT_EQ(Replay(), 1);
  EXPECT_THAT(said_, HasSubstr(Checkpoints().back()));
  EXPECT_THAT(replay_->out(), testing::Not(HasSubstr("bit for bit")));

  WriteFileAtomically(newest, whole);
  WriteFileAtomically(Segment(), journal.substr(0, journal.size() / 2));
  EXPECT_EQ(Replay(), 1);
  EXPECT_THAT(said_, HasSubstr("the journal ends before checkpoints/"));
  damaged = journal;
  damaged[damaged.size() / 2] ^= 1;
  WriteFileAtomically(Segment(), damaged);
  EXPECT_EQ(Replay(), 1);
  EXPECT_THAT(replay_->out(), HasSubstr("the journal is damaged after version"));
}

TEST_F(ReplayTest, TellsWhatMadeAVersionAndStopsWhereItIsTold) {
  ASSERT_EQ(Train({"run.steps=8000", "actors.count=2", "updates.gradients=2"}), 0);
  EXPECT_EQ(Replay({"--explain", "3"}), 0);
  EXPECT_THAT(replay_->out(), HasSubstr("version 3: 2 gradients, "));
  EXPECT_THAT(replay_->out(), ContainsRegex("actor +life +sequence +computed on +staleness"));
  EXPECT_EQ(Replay({"--until", "5"}), 0);
  EXPECT_THAT(replay_->out(), HasSubstr("replayed 5 versions"));
  for (const char* what : {"--until", "--explain"}) {
    EXPECT_EQ(Replay({what, "x"}), 2);
    EXPECT_EQ(Replay({what, "5000"}), 2);
    EXPECT_THAT(said_, HasSubstr("the journal holds no version 5000: it has those from 1 to "));
  }
}

TEST_F(ReplayTest, SavesTheWeightsOfAVersion) {
  ASSERT_EQ(Train({"run.steps=8000", "actors.count=2"}), 0);
  const std::string saved = (dir_ / "saved.safetensors").string();
  EXPECT_EQ(Replay({"--until", "30", "--save", saved}), 0) << said_;
  EXPECT_THAT(replay_->out(), HasSubstr("saved.safetensors: version 30"));
  const learner::Checkpoint checkpoint = learner::ReadCheckpoint(saved);
  EXPECT_EQ(checkpoint.version, 30u);
  EXPECT_EQ(checkpoint.steps, 30 * kSamples);
  EXPECT_EQ(WaitFor(*Start("starling", {"eval", saved, "--episodes", "2"})), 0) << said_;
  EXPECT_EQ(Replay({"--save", saved}), 0) << said_;
  EXPECT_EQ(learner::ReadCheckpoint(saved).weights,
            learner::ReadCheckpoint(run() / "checkpoints" / Checkpoints().back()).weights);
}

// The optimizer's state has no hash in the journal.
TEST_F(ReplayTest, WhereItStopsAtADifferentCheckpointItSaysSo) {
  ASSERT_EQ(Train({"run.steps=8000", "actors.count=2"}), 0);
  const std::filesystem::path newest = run() / "checkpoints" / Checkpoints().back();
  learner::Checkpoint other = learner::ReadCheckpoint(newest);
  other.optimizer_state[0][0] += 1;
  learner::WriteCheckpoint(newest.parent_path(), other);
  EXPECT_EQ(Replay({"--until", "50"}), 1);
  EXPECT_THAT(said_, HasSubstr("weights or optimizer are not those of "));
}

TEST_F(ReplayTest, SaysWhereTheBitsDiffer) {
  ASSERT_EQ(Train({"run.steps=16000", "actors.count=2", "learner.hash_every=10"}), 0);
  std::string config = ReadFile(run() / "config.toml");
  const std::size_t gamma = config.find("gamma = ");
  ASSERT_NE(gamma, std::string::npos);
  config.replace(gamma, std::string("gamma = 0.9").size(), "gamma = 0.5");
  WriteFileAtomically(run() / "config.toml", config);
  EXPECT_EQ(Replay(), 1);
  EXPECT_THAT(said_, ContainsRegex("a gradient of actor [01] on version 0 is not the one that the "
                                   "run had: was it trained by another program"));
}

TEST_F(ReplayTest, WhatCannotBeReplayedIsSaid) {
  EXPECT_EQ(Replay(), 2);
  EXPECT_THAT(said_, HasSubstr("is no run directory: it has no config.toml"));
  ASSERT_EQ(Train({"run.steps=1600", "actors.count=1"}), 0);
  const std::string journal = ReadFile(Segment());
  std::filesystem::remove(Segment());
  EXPECT_EQ(Replay(), 2);
  EXPECT_THAT(said_, HasSubstr("journal cannot be read"));
  WriteFileAtomically(Segment(), journal.substr(0, journal.size() - 3));
  EXPECT_EQ(Replay(), 0);
  EXPECT_THAT(replay_->out(), HasSubstr("the journal breaks off after version"));
  WriteFileAtomically(Segment(), "not a journal at all, but long enough to be looked at");
  EXPECT_EQ(Replay(), 2);
}

}  // namespace
}  // namespace starling
