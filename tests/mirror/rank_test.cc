// Ranks that are threads: what they make of a run, beside one loop that does it alone.
#include "mirror/rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "actors/actor.h"
#include "learner/apply/schedule.h"
#include "net/norm.h"
#include "results/initial_net.h"
#include "results/statistics.h"
#include "tests/mirror/thread_world.h"
#include "tests/support/temp_dir.h"

namespace starling::mirror {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kRanks = 3;
constexpr std::uint64_t kSamples = 4 * 5;

// How a run of all ranks ended.
struct Ended {
  std::array<bool, kRanks> over{};
  std::string gave_up;
  learner::RunStatus status;
};

class RankTest : public testing::Test {
 protected:
  using Worlds = std::function<std::unique_ptr<ThreadWorld>(Hub&, int rank)>;

  Config ConfigOf(std::uint64_t updates, std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"run.steps=" + std::to_string(updates * kSamples * kRanks),
                             "wire.runtime_dir=" + dir_.path().string()});
    return ParseConfig(
        "[env]\nname = \"catch\"\n[net]\nkind = \"mlp\"\nhidden = [16]\n"
        "[actors]\ncount = 3\nenvs_per_actor = 4\nunroll = 5\n"
        "[updates]\nexchange = \"allreduce\"\n[staleness]\nbound = 0\n"
        "[checkpoint]\nevery_steps = 1_000_000\n[learner]\nhash_every = 2\n",
        "mirror.toml", more);
  }

  // Starts or resumes the run in dir_/"run". `stop`: ranks that were told to stop.
  Ended Run(const Config& config, bool resume = false, const std::vector<int>& stop = {},
            const Worlds& worlds = {}) {
    EventFd told, untold;
    told.Notify();
    const auto net = results::InitialNetOf(config);
    std::filesystem::create_directories(run());
    const HeldRun held = HoldRun(config, run());
    StartMessage message{.config = ToToml(config),
                         .session = 5,
                         .fingerprint = net.layout.fingerprint(),
                         .exact = true,
                         .redo = true,
                         .start = learner::FindStart(config, net, run(), resume)};
    message.start.reached = reached_;
    Ended ended;
    RunRanks(kRanks, [&](ThreadWorld& world) {
      const int rank = world.rank();
      const auto other = worlds ? worlds(world.hub(), rank) : nullptr;
      const bool stopped = std::ranges::find(stop, rank) != stop.end();
      Rank mine(other ? *other : world, config, net.layout, UnpackStart(Pack(message)),
                rank == 0 ? &held : nullptr,
                {.stop_fd = stopped ? told.fd() : untold.fd(),
                 .sinks = {.on_status = [&](const auto& status) { ended.status = status; }}});
      ended.over[static_cast<std::size_t>(rank)] = mine.Run();
      if (rank == 0) ended.gave_up = mine.gave_up();
    });
    return ended;
  }

  std::filesystem::path run() const { return dir_ / "run"; }
  learner::Checkpoint Newest() const {
    return *learner::LastGood(run() / "checkpoints").checkpoint;
  }

  const TempDir dir_;
  std::uint64_t reached_ = 0;  // Start::reached
};

struct Looped {
  std::vector<float> weights;
  std::uint64_t updates = 0, refused = 0;
  std::uint64_t held = 0;  // turns in which gradients waited for the next one of a refused rank
  std::vector<double> norms{};  // of all gradients
};

// A loop over all rollouts and one applier, which adds whole gradients up itself. A gradient above
// updates.max_norm is refused: its rollout plays again for this update if it was the first to
// arrive, else the update lacks it (Judge::GrantOrQueue).
Looped LoopOf(const Config& config) {
  const auto net = results::InitialNetOf(config);
  const std::size_t floats = net.layout.size();
  learner::Lives lives(1, std::nullopt);
  std::vector<std::unique_ptr<actors::Rollout>> rollouts;
  for (std::uint32_t slot = 0; slot < kRanks; ++slot) {
    rollouts.push_back(actors::MakeRollout(config, slot, lives.Of(slot).number));
  }
  wire::SnapshotWriter snapshot("", floats, net.layout.fingerprint(), 1);
  EventFd done;
  const auto applier = learner::MakeApplier(
      ApplyMode::kLanes,
      {.threads = 1, .optimizer = learner::MakeOptimizerSpec(config.optimizer), .size = floats},
      net.initial, {}, snapshot, {.term = 1}, [&] { done.Notify(); });
  Looped looped{.weights = net.initial};
  for (std::uint64_t steps = 0; steps < config.run.steps;) {
    // 1. Every rollout plays on the same weights.
    std::vector<std::vector<float>> gradients(kRanks, std::vector<float>(floats));
    std::set<std::uint32_t> held;
    std::vector<std::uint32_t> playing(kRanks);
    std::iota(playing.begin(), playing.end(), 0u);
    while (!playing.empty()) {
      std::vector<std::uint32_t> again;
      for (const std::uint32_t slot : playing) {
        std::ranges::copy(looped.weights, rollouts[slot]->weights().begin());
        rollouts[slot]->Run(learner::EntropyCoef(config.loss, config.run.steps, steps),
                            gradients[slot]);
        looped.norms.push_back(net::CheckFinite(gradients[slot]).norm);
        if (looped.norms.back() <= config.updates.max_norm) {
          held.insert(slot);
        } else if (++looped.refused; held.empty()) {
          again.push_back(slot);
        }
      }
      looped.held += again.empty() || held.empty() ? 0 : 1;
      playing = again;
    }
    // 2. One update, in the order of slots.
    learner::Update update;
    for (const std::uint32_t slot : held) update.gradients.push_back({.values = gradients[slot]});
    const std::uint64_t samples = kSamples * update.gradients.size();
    update.version = update.optimizer_step = ++looped.updates;
    update.lr = learner::LearningRate(config.optimizer, config.run.steps, steps, samples);
    update.meta = {.term = 1, .version = update.version};
    steps += samples;
    EXPECT_TRUE(applier->Submit(&update));
    while (!applier->Idle()) std::this_thread::yield();
    looped.weights = applier->CaptureNow().weights;
  }
  return looped;
}

TEST_F(RankTest, ThreeRanksMakeTheBitsOfOneLoop) {
  const Config config = ConfigOf(20);
  const Ended ended = Run(config);
  EXPECT_THAT(ended.over, testing::Each(true));
  EXPECT_EQ(ended.status.updates, 20u);
  EXPECT_EQ(ended.status.gradients.applied, 60u);
  EXPECT_TRUE(ended.status.gradients.AddUp());
  EXPECT_EQ(ended.status.staleness.max, 0u);
  EXPECT_EQ(Newest().version, 20u);
  EXPECT_EQ(Newest().weights, LoopOf(config).weights);
}

TEST_F(RankTest, AnyRankThatIsToldToStopStopsAll) {
  const Ended ended = Run(ConfigOf(1'000'000), false, {2});
  EXPECT_THAT(ended.over, testing::Each(false));
  EXPECT_EQ(ended.status.phase, "done");
  EXPECT_EQ(Newest().version, 1u);  // the turn in which it told the others
  EXPECT_TRUE(learner::NewestCut(run() / "checkpoints").checkpoint);
}

TEST_F(RankTest, AStopBeforeAVersionThatItHadReachedIsNamed) {
  reached_ = 7;
  testing::internal::CaptureStderr();
  Run(ConfigOf(20), false, {0});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("the run had come to version 7 before a rank died, and stops at 1: "));
  testing::internal::CaptureStderr();
  Run(ConfigOf(20), true);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::Not(HasSubstr("had come to")));
}

TEST_F(RankTest, AStoppedRunGoesOnToTheSameBits) {
  const Config config = ConfigOf(20);
  Run(config, false, {0});
  for (int i = 0; i < 3; ++i) Run(config, true, {1});  // a turn each
  EXPECT_EQ(Newest().version, 4u);
  const Ended ended = Run(config, true);
  EXPECT_THAT(ended.over, testing::Each(true));
  EXPECT_EQ(ended.status.term, 5u);
  EXPECT_EQ(ended.status.breaks, 0u);
  EXPECT_EQ(Newest().weights, LoopOf(config).weights);
}

// run.until_return: every rank counts the episodes of all.
TEST_F(RankTest, AllRanksEndAtTheReturnThatIsWanted) {
  const Config config = ConfigOf(1000, {"run.until_return=-1"});
  const Ended ended = Run(config);
  EXPECT_THAT(ended.over, testing::Each(true));
  EXPECT_GE(ended.status.episodes, 100u);
  EXPECT_LT(ended.status.episodes, 100u + 2 * kRanks * 4) << "at the first such update";
  EXPECT_EQ(Newest().version, ended.status.updates);
  const std::uint64_t version = Newest().version;
  EXPECT_THAT(Run(config, true).over, testing::Each(true));
  EXPECT_EQ(Newest().version, version) << "a resumed run is over at once";
  EXPECT_THAT(Run(ConfigOf(version + 3), true).over, testing::Each(true));
  EXPECT_EQ(Newest().version, version + 3) << "and goes on without it";
}

// A refused rank plays again while the others are held, or its gradient is missing.
TEST_F(RankTest, RefusedGradientsAreReplacedOrMissing) {
  // A limit that about every fifth gradient exceeds.
  Config config = ConfigOf(20, {"optimizer.clip_norm=0"});
  config.updates.max_norm = results::Quantile(LoopOf(config).norms, 0.8);
  const Looped looped = LoopOf(config);
  ASSERT_GT(looped.held, 0u);
  ASSERT_GT(looped.refused, looped.held);
  const Ended ended = Run(config);
  EXPECT_THAT(ended.over, testing::Each(true));
  EXPECT_EQ(ended.status.updates, looped.updates);
  EXPECT_THAT(ended.status.gradients.dropped,
              testing::ElementsAre(testing::Pair("norm_too_large", looped.refused)));
  EXPECT_TRUE(ended.status.gradients.AddUp());
  EXPECT_EQ(ended.status.staleness.max, 0u);
  EXPECT_EQ(Newest().weights, looped.weights);
}

// All engines refuse the same gradients, and nobody waits for an update.
TEST_F(RankTest, ARunWhoseGradientsAreAllRefusedCanBeStopped) {
  const Ended ended = Run(ConfigOf(20, {"updates.max_norm=1e-20"}), false, {1});
  EXPECT_THAT(ended.over, testing::Each(false));
  EXPECT_EQ(ended.status.updates, 0u);
  EXPECT_EQ(ended.status.gradients.dropped.at("norm_too_large"), 3u);
}

// Every update wants a checkpoint, so new unrolls are withheld until none has gradients left. Most
// gradients are refused, and now and then those of all ranks that would have ended an unroll.
TEST_F(RankTest, ARunWhoseCutIsLostWithRefusedGradientsGoesOn) {
  const double limit =
      results::Quantile(LoopOf(ConfigOf(20, {"optimizer.clip_norm=0"})).norms, 0.3);
  const Ended ended =
      Run(ConfigOf(400, {"optimizer.clip_norm=0", "loss.kind=ppo", "updates.minibatches=2",
                         "checkpoint.every_steps=1", "updates.max_norm=" + std::to_string(limit)}));
  EXPECT_THAT(ended.over, testing::Each(true));
  EXPECT_GT(ended.status.gradients.dropped.at("norm_too_large"), ended.status.gradients.applied);
}

// The unrolls that have begun run out, so the last checkpoint is a cut.
TEST_F(RankTest, AStopInTheMiddleOfAnUnrollGoesOnToTheSameBits) {
  const Config config = ConfigOf(6, {"loss.kind=ppo", "updates.minibatches=4"});
  Run(config, false, {2});
  EXPECT_EQ(Newest().version, 4u);
  const Ended ended = Run(config, true);
  EXPECT_EQ(ended.status.breaks, 0u);
  const std::vector<float> resumed = Newest().weights;
  std::filesystem::remove_all(run());
  Run(config);
  EXPECT_EQ(resumed, Newest().weights);
}

// One bit of the mean is not what the others have.
class FlippingWorld : public ThreadWorld {
 public:
  using ThreadWorld::ThreadWorld;
  void Join(std::byte* whole, std::span<const wire::Slice> slices, std::size_t width) override {
    ThreadWorld::Join(whole, slices, width);
    if (rank() == 2) whole[3] ^= std::byte{0x10};  // of the first float's exponent
  }
};

using RankDeathTest = RankTest;

TEST_F(RankDeathTest, AWeightThatDiffersIsOurBug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // The directory of the process that dies goes with that of this one.
  ASSERT_EQ(::setenv("TEST_TMPDIR", dir_.path().c_str(), 1), 0);
  EXPECT_DEATH(Run(ConfigOf(20), false, {},
                   [](Hub& hub, int rank) { return std::make_unique<FlippingWorld>(hub, rank); }),
               "weights of rank 2 are not those of rank 0: version 2 has");
  ::unsetenv("TEST_TMPDIR");
}

}  // namespace
}  // namespace starling::mirror
