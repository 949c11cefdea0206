// Finds the net to play with, or names the file at fault.
#include "results/trained.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "tests/results/first_checkpoint.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling::results {
namespace {

using testing::HasSubstr;

// The error once read "the checkpoint's configuration:2:9", without the file.
TEST(LoadTrained, ADamagedConfigurationIsThatOfAFile) {
  const TempDir dir;
  learner::Checkpoint checkpoint =
      FirstCheckpoint(ParseConfig("[env]\nname = \"catch\"\n", "test.toml"));
  checkpoint.config = "[env]\nname = = \"catch\"\n";
  const auto path = learner::WriteCheckpoint(dir / "checkpoints", checkpoint);
  EXPECT_THAT(ErrorOf([&] { LoadTrained(dir.path()); }),
              HasSubstr("the configuration in " + path.string() + ":2:"));
}

// The checkpoint names the place where the plug-in was.
TEST(LoadTrained, APlugInThatMovedIsNamedAndCanBeGivenAgain) {
  const TempDir dir;
  learner::Checkpoint checkpoint =
      FirstCheckpoint(ParseConfig("[env]\nname = \"catch\"\n", "test.toml"));
  checkpoint.config = "[env]\nname = \"plugin:/gone/mine.so\"\n";
  learner::WriteCheckpoint(dir / "checkpoints", checkpoint);
  EXPECT_EQ(ErrorOf([&] { LoadTrained(dir.path()); }),
            "plugin:/gone/mine.so is not there any more; if it moved, give its place: --set "
            "env.name=plugin:PATH");
  EXPECT_EQ(LoadTrained(dir.path(), {"env.name=catch"}).config.env.name, "catch");
  EXPECT_THAT(ErrorOf([&] { LoadTrained(dir.path(), {"env.name=minatar/breakout"}); }),
              HasSubstr("holds a net for another environment than that of --set"));
}

TEST(LayoutOf, RefusesDeviationsOfChoices) {
  Config config = ParseConfig(
      "[env]\nname = \"catch\"\n[net]\nkind = \"mlp\"\ndeviation_init = 0.5\n", "x.toml");
  EXPECT_EQ(ErrorOf([&] { LayoutOf(config); }),
            "net.deviation_init = 0.5: the actions are choices, which have no deviations; leave it "
            "out");
  config.env.name = "control/reach";
  EXPECT_EQ(ErrorOf([&] { LayoutOf(config); }), "");
}

TEST(InitialNetOf, DeviationsStartAsConfigured) {
  const Config config = ParseConfig(
      "[env]\nname = \"control/reach\"\n[net]\nkind = \"mlp\"\ndeviation_init = 0.5\n", "x.toml");
  const learner::InitialNet net = InitialNetOf(config);
  const net::Parameter& logs = net.layout.Find("policy.box.log_std");
  EXPECT_EQ(logs.size, 2u);
  EXPECT_EQ(net.initial.at(logs.offset + 1), std::log(0.5f));
}

// Pictures leave no parameters that could differ.
TEST(LoadFirstWeights, ANetThatHasLearntFromOtherNumbersIsRefused) {
  const TempDir dir;
  for (const bool theirs : {true, false}) {
    Config config = ParseConfig("[env]\nname = \"catch\"\n", "x.toml");
    config.env.normalize_observations = theirs;
    const auto path = learner::WriteCheckpoint(dir / "checkpoints", FirstCheckpoint(config));
    config.run.init_from = path.string();
    EXPECT_EQ(LoadFirstWeights(config).path, path);
    config.env.normalize_observations = !theirs;
    const std::string refusal = fmt::format(
        "env.normalize_observations = {}: {} holds a net that has learnt with {}; set "
        "it so",
        !theirs, path.string(), theirs);
    EXPECT_EQ(ErrorOf([&] { LoadFirstWeights(config); }), refusal);
    const std::string other = fmt::format("env.normalize_observations={}", !theirs);
    EXPECT_EQ(ErrorOf([&] { LoadTrained(path, {other}); }), refusal);
  }
}

TEST(LayoutOf, SumsNeedAllTheirDigits) {
  const auto refusal = [](const char* normalized, const char* narrow) {
    const Config config = ParseConfig("", "x.toml", {"env.name=catch", normalized, narrow});
    return ErrorOf([&] { LayoutOf(config); });
  };
  const char* const rewards = "env.normalize_rewards=true";
  EXPECT_THAT(refusal(rewards, "wire.gradient=bf16"), HasSubstr("wire.gradient = \"bf16\": the"));
  EXPECT_THAT(refusal(rewards, "wire.weights=bf16"), HasSubstr("wire.weights = \"bf16\": the"));
  EXPECT_EQ(refusal(rewards, "wire.weights=f32"), "");
  EXPECT_EQ(refusal("env.normalize_observations=true", "wire.weights=bf16"), "") << "pictures";
}

TEST(LayoutOf, AMemoryNeedsWholeUnrolls) {
  const auto refusal = [](const char* net) {
    const Config config =
        ParseConfig("", "x.toml", {"updates.shuffle=samples", "updates.minibatches=5", net});
    return ErrorOf([&] { LayoutOf(config); });
  };
  EXPECT_THAT(refusal("net.layers=[\"linear 8\", \"gru 8\"]"),
              HasSubstr("updates.shuffle = \"samples\": the net remembers"));
  EXPECT_EQ(refusal("net.layers=[\"linear 8\"]"), "");
}

TEST(FindCheckpoint, TheCheckpointsDirectoryOfARunIsTheRun) {
  const TempDir dir;
  const auto path = learner::WriteCheckpoint(
      dir / "checkpoints", FirstCheckpoint(ParseConfig("[env]\nname = \"catch\"\n", "x.toml")));
  EXPECT_EQ(FindCheckpoint(dir.path()).path, path);
  EXPECT_EQ(FindCheckpoint(dir / "checkpoints").path, path);
  EXPECT_EQ(FindCheckpoint(path).path, path);
}

}  // namespace
}  // namespace starling::results
