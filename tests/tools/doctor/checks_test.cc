// How the checks of `starling doctor` are run, and what they find.
#include "tools/doctor/checks.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "core/error.h"
#include "envs/games/catch.h"
#include "envs/registry.h"
#include "net/checks/op_checks.h"
#include "tests/actors/fake_replica.h"
#include "tests/envs/on_loops.h"
#include "tests/support/broken_backend.h"
#include "tests/support/error_of.h"
#include "tests/support/fake_gpu.h"

namespace starling::doctor {
namespace {

using net::testing::BrokenBackend;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr double kNoLimit = 1e9;  // seconds

Check Ok(const std::string& what) {
  return {what, [] { return Verdict{}; }};
}

std::vector<Row> RunAll(std::vector<CheckGroup> groups) {
  std::vector<Row> rows;
  const std::thread hanging =
      RunChecks(std::move(groups), kNoLimit, [&](const Row& row) { rows.push_back(row); });
  EXPECT_FALSE(hanging.joinable());
  return rows;
}

std::vector<std::string> Whats(const std::vector<Row>& rows) {
  std::vector<std::string> whats;
  for (const Row& row : rows) whats.push_back(row.what);
  return whats;
}

// ---- How checks are run

TEST(ChecksTest, AnExceptionIsTheFailureOfItsRow) {
  const Check throws{"b", []() -> Verdict { throw std::runtime_error("it failed"); }};
  const std::vector<Row> rows = RunAll({{"ops", "cpu", {}, {Ok("a"), throws, Ok("c")}}});
  ASSERT_THAT(Whats(rows), ElementsAre("a", "b", "c"));
  EXPECT_EQ(rows[1].failure, "it failed");
  EXPECT_TRUE(rows[0].ok() && !rows[1].ok() && rows[2].ok());
}

TEST(ChecksTest, AGroupWhoseStartFailsEnds) {
  const auto fails = []() -> Verdict { throw UserError("there is none"); };
  const auto starts = [] { return Verdict{}; };
  const std::vector<Row> rows =
      RunAll({{"ops", "absent", fails, {Ok("a"), Ok("b")}}, {"ops", "cpu", starts, {Ok("a")}}});
  ASSERT_THAT(Whats(rows), ElementsAre("start", "start", "a"));
  EXPECT_EQ(rows[0].failure, "there is none");
  EXPECT_EQ(rows[0].device, "absent");
}

// A thread may have one GPU open, so one group must not keep its own while the next one runs.
TEST(ChecksTest, WhatAGroupSharesIsGoneBeforeTheNext) {
  auto shared = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = shared;
  bool gone = false;
  std::vector<CheckGroup> groups = {{"ops", "a", {}, {}}, {"ops", "b", {}, {}}};
  groups[0].checks.push_back({"uses it", [shared] { return Verdict{}; }});
  groups[1].checks.push_back({"looks", [&] {
                                gone = watched.expired();
                                return Verdict{};
                              }});
  shared.reset();
  RunAll(std::move(groups));
  EXPECT_TRUE(gone);
}

TEST(ChecksTest, ACheckThatHangsIsTheLastRow) {
  std::promise<void> release;
  std::atomic<bool> ran_on = false;
  const Check hangs{"hangs", [until = release.get_future().share()] {
                      until.wait();
                      return Verdict{};
                    }};
  const Check next{"next", [&] {
                     ran_on = true;
                     return Verdict{};
                   }};
  std::vector<Row> rows;
  std::thread hanging = RunChecks({{"games", "cuda", {}, {hangs, next}}}, 0,
                                  [&](const Row& row) { rows.push_back(row); });
  ASSERT_TRUE(hanging.joinable());
  release.set_value();
  hanging.join();
  ASSERT_THAT(Whats(rows), ElementsAre("hangs"));
  EXPECT_THAT(rows[0].failure, HasSubstr("it hangs: not done in 0 s"));
  EXPECT_FALSE(ran_on);
}

TEST(ChecksTest, AStartThatHangsIsNamed) {
  std::promise<void> release;
  const auto hangs = [until = release.get_future().share()] {
    until.wait();
    return Verdict{};
  };
  std::vector<Row> rows;
  std::thread hanging = RunChecks({{"ops", "cuda", hangs, {Ok("loss")}}}, 0,
                                  [&](const Row& row) { rows.push_back(row); });
  release.set_value();
  ASSERT_TRUE(hanging.joinable());
  hanging.join();
  EXPECT_THAT(Whats(rows), ElementsAre("start"));
}

TEST(ChecksTest, OnlyKeepsTheChecksWhoseNameHasTheText) {
  const std::vector<CheckGroup> all = {{"ops", "cpu", {}, {Ok("loss"), Ok("gather")}},
                                       {"ops", "cuda", {}, {Ok("loss")}},
                                       {"games", "cuda", {}, {Ok("catch")}}};
  EXPECT_THAT(Whats(RunAll(Only("", all))), ElementsAre("loss", "gather", "loss", "catch"));
  EXPECT_THAT(Whats(RunAll(Only("cuda", all))), ElementsAre("loss", "catch"));
  EXPECT_THAT(Whats(RunAll(Only("ops: cpu: l", all))), ElementsAre("loss"));
  EXPECT_THAT(ErrorOf([&] { Only("rollouts", all); }), HasSubstr("no check has \"rollouts\""));
}

// ---- What they find

// Each backend is on its own: a broken one does not affect the others.
TEST(ChecksTest, ABrokenOpIsNamed) {
  const auto broken = [](const std::string& device, const std::string& op,
                         net::testing::Fault fault) {
    return OpGroup(device, "a device", Precision::kF32,
                   [=] { return std::make_shared<BrokenBackend>(op, fault); });
  };
  const std::vector<Row> rows =
      RunAll({broken("good", "", net::testing::Fault::kThrows),
              broken("wrong", "loss", net::testing::Fault::kLeavesTheLast),
              broken("throws", "advantages", net::testing::Fault::kThrows)});
  ASSERT_EQ(rows.size(), 3 * (net::OpChecks().size() + 1));
  EXPECT_EQ(rows[0].verdict.text, "a device");
  for (const Row& row : rows) {
    const bool bad = (row.device == "wrong" && row.what == "loss") ||
                     (row.device == "throws" && row.what == "advantages");
    EXPECT_EQ(row.ok(), !bad) << row.device << ", " << row.what;
  }
}

// Games on a GPU made of loops, with one fault, in step kFaulty.
enum class Fault { kPicture, kReward, kEnd, kEpisode };
constexpr int kFaulty = 40;

class FaultyGames final : public envs::VecEnv {
 public:
  FaultyGames(std::unique_ptr<envs::VecEnv> games, Fault fault, Gpu& gpu)
      : games_(std::move(games)), fault_(fault), gpu_(dynamic_cast<FakeGpu&>(gpu)) {}

  const envs::EnvSpec& spec() const override { return games_->spec(); }
  int size() const override { return games_->size(); }
  bool on_gpu() const override { return true; }
  void Reset(std::span<float> observations) override { games_->Reset(observations); }
  void StepAsync(std::span<const std::int32_t> actions) override { games_->StepAsync(actions); }
  void StepWait(std::span<float> observations, std::span<float> rewards,
                std::span<std::uint8_t> terminals) override {
    games_->StepWait(observations, rewards, terminals);
    if (steps_++ != kFaulty) return;
    gpu_.Ask([=, fault = fault_] {
      if (fault == Fault::kPicture) observations.back() += 1;
      if (fault == Fault::kReward) rewards.back() += 1;
      if (fault == Fault::kEnd) terminals.back() ^= 1;
    });
  }
  void QueueEpisodes() override { games_->QueueEpisodes(); }
  std::uint64_t untold() const override { return games_->untold(); }
  void TakeEpisodes(std::vector<envs::EpisodeEnd>& to) override {
    games_->TakeEpisodes(to);
    if (fault_ == Fault::kEpisode && steps_ > kFaulty) ++to.back().length;
  }

 private:
  std::unique_ptr<envs::VecEnv> games_;
  const Fault fault_;
  FakeGpu& gpu_;
  int steps_ = 0;
};

TEST(ChecksTest, GamesOnADeviceAreComparedToTheBit) {
  const EnvConfig config{.name = "catch"};
  FakeGpu gpu;
  const Verdict same = CompareGames(config, 5, 64, gpu, envs::MakeOnLoops<envs::Catch>);
  EXPECT_TRUE(same.agrees) << same.text;
  EXPECT_GT(same.numbers["episodes"], 15) << "too few to have shown anything";

  const std::pair<Fault, const char*> faults[] = {
      {Fault::kPicture, "step 40: env 4, number "},
      {Fault::kReward, "step 40: env 4: reward "},
      {Fault::kEnd, "step 40: env 4: reward "},
      {Fault::kEpisode, "the episodes that ended before step 48"}};
  for (const auto& [fault, text] : faults) {
    const auto make = [fault = fault](const EnvConfig& of, int num_envs, const envs::EnvSeed& seed,
                                      int steps, Gpu& on) {
      return std::make_unique<FaultyGames>(
          envs::MakeOnLoops<envs::Catch>(of, num_envs, seed, steps, on), fault, on);
    };
    const Verdict differs = CompareGames(config, 5, 64, gpu, make);
    EXPECT_FALSE(differs.agrees);
    EXPECT_THAT(differs.text, StartsWith(text));
  }
}

TEST(ChecksTest, GamesOfAnotherSeedDifferFromTheFirstPictureOn) {
  FakeGpu gpu;
  const auto make = [](const EnvConfig& config, int num_envs, envs::EnvSeed seed, int steps,
                       Gpu& on) {
    ++seed.seed;
    return envs::MakeOnLoops<envs::Catch>(config, num_envs, seed, steps, on);
  };
  const Verdict differs = CompareGames({.name = "catch"}, 5, 64, gpu, make);
  EXPECT_FALSE(differs.agrees);
  EXPECT_THAT(differs.text, StartsWith("reset before step 0: env "));
}

class RolloutChecks : public testing::Test {
 protected:
  RolloutChecks() {
    config_.env.name = "catch";
    config_.actors.backend = config_.actors.env_device = DeviceChoice::kCpu;
    config_.actors.envs_per_actor = 4;
    config_.actors.unroll = 8;
    config_.net.kind = NetKind::kMlp;
    config_.net.hidden = {16};
  }
  static MakeRollout OnHost(const Config& config) {
    return [=] { return std::make_unique<actors::Rollout>(config, 0, 1); };
  }
  MakeRollout OnLoops() const {
    return [config = config_] {
      return std::make_unique<actors::Rollout>(
          config, 0, 1, actors::ReplicaOn(std::make_unique<FakeGpu>()), actors::EnvGroups());
    };
  }
  MakeRollout OnLoopsWithGames() const {
    return [config = config_] {
      auto gpu = std::make_unique<FakeGpu>();
      const int unroll = static_cast<int>(config.actors.unroll);
      actors::EnvGroups groups = actors::MakeGroups(
          config, {config.run.seed, 0, 1}, [&](int envs, const envs::EnvSeed& seed) {
            return envs::MakeOnLoops<envs::Catch>(config.env, envs, seed, unroll, *gpu);
          });
      return std::make_unique<actors::Rollout>(config, 0, 1, actors::ReplicaOn(std::move(gpu)),
                                               std::move(groups));
    };
  }

  Config config_;
};

TEST_F(RolloutChecks, ADeviceAgreesWithTheHost) {
  const Verdict same = CompareRollouts(OnLoops(), OnHost(config_), 4, 1e-5);
  EXPECT_TRUE(same.agrees) << same.text;
  EXPECT_EQ(same.numbers["gradients"], 4);
  EXPECT_GT(same.numbers["episodes"], 4);
  const Verdict games = CompareRollouts(OnLoopsWithGames(), OnHost(config_), 4, 1e-5);
  EXPECT_TRUE(games.agrees) << games.text;
  EXPECT_EQ(games.numbers["episodes"], same.numbers["episodes"]);

  config_.loss.kind = LossKind::kPpo;
  config_.updates.epochs = config_.updates.minibatches = 2;
  const Verdict again = CompareRollouts(OnLoops(), OnHost(config_), 3, 1e-5);
  EXPECT_TRUE(again.agrees) << again.text;
  EXPECT_EQ(again.numbers["gradients"], 12);
}

TEST_F(RolloutChecks, OtherGradientsAreFound) {
  Config other = config_;
  other.loss.value_coef *= 1.01;
  const Verdict differs = CompareRollouts(OnLoops(), OnHost(other), 1, 1e-5);
  EXPECT_FALSE(differs.agrees);
  EXPECT_GT(differs.numbers["gradient_error"], 1e-5);
  EXPECT_GT(differs.numbers["norm_error"], 1e-5);
}

TEST_F(RolloutChecks, GradientsThatAreNotNumbersAreFound) {
  config_.loss.value_coef = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(RolloutTwice(OnHost(config_)).agrees);
  EXPECT_FALSE(CompareRollouts(OnLoops(), OnHost(config_), 1, 1e-5).agrees);
}

// Running sums are compared apart from the gradient, and are added to the weights: then they count.
TEST_F(RolloutChecks, RunningSumsAreAPartOfIt) {
  config_.env.name = "control/reach";
  config_.env.normalize_observations = config_.env.normalize_rewards = true;
  const Verdict same = CompareRollouts(OnLoops(), OnHost(config_), 4, 1e-4);
  EXPECT_TRUE(same.agrees) << same.text;
  Config other = config_;
  other.loss.gamma = 0.5;  // of the returns whose spread scales rewards
  EXPECT_GT(CompareRollouts(OnLoops(), OnHost(other), 1, 1e-4).numbers["sums_error"], 1e-4);
}

TEST_F(RolloutChecks, OtherGamesAreFound) {
  Config other = config_;
  other.run.seed = 2;
  const Verdict differs = CompareRollouts(OnLoops(), OnHost(other), 4, 1e9);
  EXPECT_FALSE(differs.agrees);
  EXPECT_THAT(differs.text, HasSubstr("other episodes have ended"));
}

TEST_F(RolloutChecks, OtherBitsAreFound) {
  EXPECT_TRUE(RolloutTwice(OnHost(config_)).agrees);
  Config other = config_;
  other.loss.value_coef *= 1 + 1e-6;
  int made = 0;
  const Verdict differs = RolloutTwice([&] { return OnHost(made++ == 0 ? config_ : other)(); });
  EXPECT_FALSE(differs.agrees);
  EXPECT_THAT(differs.text, HasSubstr("has other bits"));
}

// Every GPU of a machine has checks of its own, and no two checks have one name.
TEST(ChecksTest, AMachineWithTwoGpus) {
  Machine machine;
  machine.gpus.gpus = {{.name = "A GPU"}, {.name = "A GPU"}};
  std::set<std::string> names;
  std::map<std::string, int> of_device;
  for (const CheckGroup& group : ChecksOf(machine, Sizes::kLarge)) {
    for (const Check& check : group.checks) {
      const std::string name = group.kind + ": " + group.device + ": " + check.what;
      EXPECT_TRUE(names.insert(name).second) << name << " twice";
      ++of_device[group.kind + " " + group.device];
    }
  }
  EXPECT_EQ(of_device["ops cuda 0 tf32"], static_cast<int>(net::OpChecks().size()));
  EXPECT_GE(of_device["games cuda 0"], static_cast<int>(envs::EnvNames().size()));
  EXPECT_EQ(of_device["games cuda 0"], of_device["games cuda 1"]);
  EXPECT_EQ(of_device["rollouts cuda 0"], of_device["rollouts cuda 1"]);
  EXPECT_GT(of_device["rollouts cuda 0"], 2 * of_device["rollouts cpu"]);
}

// Every check of this machine agrees (those of ops in tests/net/backend_ops_test.cc).
TEST_F(RolloutChecks, OfThisMachineAgree) {
  const Machine machine = InspectMachine();
  std::vector<CheckGroup> groups = RolloutGroups(machine, Sizes::kSmall);
  for (CheckGroup& of_games : GameGroups(machine, Sizes::kSmall)) {
    groups.push_back(std::move(of_games));
  }
  const std::vector<Row> rows = RunAll(std::move(groups));
  EXPECT_GE(rows.size(), 10u);
  for (const Row& row : rows) {
    EXPECT_TRUE(row.ok()) << row.device << ": " << row.what << ": " << row.failure
                          << row.verdict.text;
  }
}

}  // namespace
}  // namespace starling::doctor
