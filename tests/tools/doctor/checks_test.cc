// The checks of `starling doctor`: how they are run, and that they find what is broken.
#include "tools/doctor/checks.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
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
using net::testing::Fault;
using testing::ElementsAre;
using testing::HasSubstr;

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
  const auto broken = [](const std::string& device, const std::string& op, Fault fault) {
    return OpGroup(device, "a device", Precision::kF32,
                   [=] { return std::make_shared<BrokenBackend>(op, fault); });
  };
  const std::vector<Row> rows =
      RunAll({broken("good", "", Fault::kThrows), broken("wrong", "loss", Fault::kLeavesTheLast),
              broken("throws", "advantages", Fault::kThrows)});
  ASSERT_EQ(rows.size(), 3 * (net::OpChecks().size() + 1));
  EXPECT_EQ(rows[0].verdict.text, "a device");
  for (const Row& row : rows) {
    const bool bad = (row.device == "wrong" && row.what == "loss") ||
                     (row.device == "throws" && row.what == "advantages");
    EXPECT_EQ(row.ok(), !bad) << row.device << ", " << row.what;
  }
}

// The games of another seed, where those of `seed` are asked for.
std::unique_ptr<envs::VecEnv> OtherGames(const EnvConfig& config, int num_envs, envs::EnvSeed seed,
                                         int steps, Gpu& gpu) {
  ++seed.seed;
  return envs::MakeOnLoops<envs::Catch>(config, num_envs, seed, steps, gpu);
}

TEST(ChecksTest, GamesOnADeviceAreComparedToTheBit) {
  const EnvConfig config{.name = "catch"};
  FakeGpu gpu;
  const Verdict same = CompareGames(config, 5, 64, gpu, envs::MakeOnLoops<envs::Catch>);
  EXPECT_TRUE(same.agrees) << same.text;
  EXPECT_GT(same.numbers["episodes"], 5 * 64 / 20) << "an episode of Catch is short";
  const Verdict other = CompareGames(config, 5, 64, gpu, OtherGames);
  EXPECT_FALSE(other.agrees);
  EXPECT_THAT(other.text, HasSubstr("on the GPU"));
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

  Config config_;
};

TEST_F(RolloutChecks, ADeviceAgreesWithTheHost) {
  const Verdict same = CompareRollouts(OnLoops(), OnHost(config_), 4, 1e-5);
  EXPECT_TRUE(same.agrees) << same.text;
  EXPECT_EQ(same.numbers["gradients"], 4);
  EXPECT_GT(same.numbers["episodes"], 4);

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
