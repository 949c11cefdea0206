// Ranks that are threads: what they make of a run, beside one loop that does it alone.
#include "mirror/rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "actors/actor.h"
#include "learner/apply/schedule.h"
#include "results/trained.h"
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
    const StartMessage message{.config = ToToml(config),
                               .session = 5,
                               .fingerprint = net.layout.fingerprint(),
                               .exact = true,
                               .redo = true,
                               .start = learner::FindStart(config, net, run(), resume)};
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
};

// A loop over three rollouts and one applier, which adds whole gradients up itself.
std::vector<float> WeightsOfOneLoop(const Config& config, std::uint64_t updates) {
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
  std::vector<float> weights = net.initial;
  for (std::uint64_t version = 1; version <= updates; ++version) {
    const std::uint64_t steps = (version - 1) * kSamples * kRanks;
    learner::Update update;
    update.version = version;
    update.optimizer_step = version;
    update.lr = learner::LearningRate(config.optimizer, config.run.steps, steps, kSamples * kRanks);
    update.meta = {.term = 1, .version = version};
    std::vector<std::vector<float>> gradients(kRanks, std::vector<float>(floats));
    for (std::uint32_t slot = 0; slot < kRanks; ++slot) {
      std::ranges::copy(weights, rollouts[slot]->weights().begin());
      rollouts[slot]->Run(learner::EntropyCoef(config.loss, config.run.steps, steps),
                          gradients[slot]);
      update.gradients.push_back({.values = gradients[slot]});
    }
    EXPECT_TRUE(applier->Submit(&update));
    while (!applier->Idle()) std::this_thread::yield();
    weights = applier->CaptureNow().weights;
  }
  return weights;
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
  EXPECT_EQ(Newest().weights, WeightsOfOneLoop(config, 20));
}

TEST_F(RankTest, AnyRankThatIsToldToStopStopsAll) {
  const Ended ended = Run(ConfigOf(1'000'000), false, {2});
  EXPECT_THAT(ended.over, testing::Each(false));
  EXPECT_EQ(ended.status.phase, "done");
  EXPECT_EQ(Newest().version, 1u);  // the turn in which it told the others
  EXPECT_TRUE(learner::NewestCut(run() / "checkpoints").checkpoint);
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
  EXPECT_EQ(Newest().weights, WeightsOfOneLoop(config, 20));
}

// All engines refuse the same gradients, and nobody waits for an update.
TEST_F(RankTest, ARunWhoseGradientsAreAllRefusedCanBeStopped) {
  const Ended ended = Run(ConfigOf(20, {"updates.max_norm=1e-20"}), false, {1});
  EXPECT_THAT(ended.over, testing::Each(false));
  EXPECT_EQ(ended.status.updates, 0u);
  EXPECT_EQ(ended.status.gradients.dropped.at("norm_too_large"), 3u);
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
  EXPECT_DEATH(Run(ConfigOf(20), false, {},
                   [](Hub& hub, int rank) { return std::make_unique<FlippingWorld>(hub, rank); }),
               "weights of rank 2 are not those of rank 0: version 2 has");
}

}  // namespace
}  // namespace starling::mirror
