// Finds the net to play with, or names the file at fault.
#include "results/trained.h"

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
  const char* const plain = "[env]\nname = \"catch\"\n";
  const std::string normal = std::string(plain) + "normalize_observations = true\n";
  const auto path =
      learner::WriteCheckpoint(dir / "checkpoints", FirstCheckpoint(ParseConfig(normal, "x.toml")));
  Config config = ParseConfig(normal, "x.toml", {"run.init_from=" + path.string()});
  EXPECT_EQ(LoadFirstWeights(config).path, path);
  config.env.normalize_observations = false;
  EXPECT_EQ(ErrorOf([&] { LoadFirstWeights(config); }),
            path.string() +
                " cannot be started from: its net has learnt with "
                "env.normalize_observations = true");
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
