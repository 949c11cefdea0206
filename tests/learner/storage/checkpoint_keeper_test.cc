// What becomes of the memory of checkpoints.
#include "learner/storage/checkpoint_keeper.h"

#include <gtest/gtest.h>

#include <semaphore>

#include "tests/learner/storage/checkpoint_fixture.h"
#include "tests/support/temp_dir.h"

namespace starling::learner {
namespace {

using CheckpointKeeperTest = TempDirTest;

TEST_F(CheckpointKeeperTest, TheMemoryOfAWrittenCheckpointIsGivenBackOnce) {
  const Config config = ParseConfig("[run]\nsteps = 1000\n", "x.toml", {});
  const Checkpoint made = MakeCheckpoint(1, 7);
  std::filesystem::create_directory(dir_ / "checkpoints");
  std::binary_semaphore written{0};
  const SteadyClock clock;
  CheckpointKeeper keeper(
      config, made.layout, dir_.path(), {.spaces = "[7]"}, [&] { written.release(); }, clock);
  EXPECT_FALSE(keeper.TakeSpare());
  CheckpointContent content{.state = made};
  const float* const memory = content.state.weights.data();
  keeper.Save(std::move(content));
  written.acquire();
  keeper.Collect();
  EXPECT_EQ(keeper.newest_version(), 7u) << keeper.error();
  EXPECT_EQ(ReadCheckpoint(dir_ / keeper.newest()).spaces, "[7]");
  const auto spare = keeper.TakeSpare();
  ASSERT_TRUE(spare);
  EXPECT_EQ(spare->weights.data(), memory);
  EXPECT_EQ(spare->state.size(), made.optimizer_state.size());
  EXPECT_FALSE(keeper.TakeSpare());
}

}  // namespace
}  // namespace starling::learner
