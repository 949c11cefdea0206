// The net that is played with is found, or it is said which file is to blame.
#include "results/trained.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/results/first_checkpoint.h"
#include "tests/support/temp_dir.h"

namespace starling::results {
namespace {

using testing::HasSubstr;

// It said "the checkpoint's configuration:2:9", of whichever of many runs.
TEST(LoadTrained, ADamagedConfigurationIsThatOfAFile) {
  const TempDir dir;
  learner::Checkpoint checkpoint =
      FirstCheckpoint(ParseConfig("[env]\nname = \"catch\"\n", "test.toml"));
  checkpoint.config = "[env]\nname = = \"catch\"\n";
  const auto path = learner::WriteCheckpoint(dir / "checkpoints", checkpoint);
  try {
    LoadTrained(dir.path());
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the configuration in " + path.string() + ":2:"));
  }
}

}  // namespace
}  // namespace starling::results
