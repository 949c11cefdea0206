// The states of actors beside a checkpoint: the file, the newest cut, pruning.
#include "learner/storage/actor_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/file.h"
#include "learner/storage/checkpoint.h"
#include "tests/learner/storage/checkpoint_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/in_child.h"
#include "tests/support/temp_dir.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using ActorStatesTest = TempDirTest;

ActorStates MakeStates() {
  return {.base = 3,
          .begun = {{0, 1}, {7, 2}},
          .actors = {{.slot = 0, .incarnation = 196608, .life = 196608, .state = {std::byte{5}}},
                     {.slot = 7, .incarnation = 196610, .life = 196609, .state = {}}}};
}

Checkpoint MakeCut(std::uint32_t term, std::uint64_t version) {
  Checkpoint cut = MakeCheckpoint(term, version);
  cut.actors = MakeStates();
  return cut;
}

std::filesystem::path StatesOf(const TempDir& dir, std::uint32_t term, std::uint64_t version) {
  return ActorStatesPath(dir / CheckpointName(term, version));
}

TEST_F(ActorStatesTest, ReadsWhatItWrote) {
  const auto path = dir_ / "t0001-v000000000010.actors";
  WriteActorStates(path, MakeStates());
  EXPECT_EQ(ReadActorStates(path), MakeStates());
}

TEST_F(ActorStatesTest, DamageIsASentenceWithTheFile) {
  const auto path = dir_ / "t0001-v000000000010.actors";
  WriteActorStates(path, MakeStates());
  const std::string whole = ReadFile(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    dir_.Write(path.filename().string(), whole.substr(0, length));
    EXPECT_THAT(ErrorOf<std::runtime_error>([&] { ReadActorStates(path); }),
                HasSubstr(path.string()));
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    dir_.Write(path.filename().string(), damaged);
    EXPECT_THAT(ErrorOf<std::runtime_error>([&] { ReadActorStates(path); }),
                HasSubstr(path.string()))
        << at;
  }
}

TEST_F(ActorStatesTest, LieBesideTheirCheckpoint) {
  EXPECT_EQ(ActorStatesPath("/r/t0001-v000000000010.safetensors"), "/r/t0001-v000000000010.actors");
  EXPECT_EQ(ActorStatesPath("/r/t0001-v000000000010"), "/r/t0001-v000000000010.actors");
  WriteCheckpoint(dir_.path(), MakeCut(1, 10));
  EXPECT_EQ(ReadActorStates(StatesOf(dir_, 1, 10)), MakeStates());
  EXPECT_THAT(ListCheckpoints(dir_.path()), ElementsAre(dir_ / CheckpointName(1, 10)));
}

TEST_F(ActorStatesTest, TheNewestCutIsACheckpointWithItsStates) {
  EXPECT_FALSE(NewestCut(dir_.path()).checkpoint);
  WriteCheckpoint(dir_.path(), MakeCut(1, 10));
  WriteCheckpoint(dir_.path(), MakeCut(1, 20));
  WriteCheckpoint(dir_.path(), MakeCheckpoint(1, 30));
  LastGoodResult cut = NewestCut(dir_.path());
  EXPECT_EQ(cut.checkpoint->version, 20u);
  EXPECT_EQ(cut.checkpoint->actors, MakeStates());
  EXPECT_THAT(cut.rejected, IsEmpty());
  // Damaged states: an older cut.
  dir_.Write(StatesOf(dir_, 1, 20).filename().string(), "x");
  cut = NewestCut(dir_.path());
  EXPECT_EQ(cut.checkpoint->version, 10u);
  EXPECT_THAT(cut.rejected, ElementsAre(HasSubstr(StatesOf(dir_, 1, 20).string())));
}

TEST_F(ActorStatesTest, PruneRemovesThemWithTheirCheckpointAndKeepsTheNewestCut) {
  WriteCheckpoint(dir_.path(), MakeCut(1, 10));
  WriteCheckpoint(dir_.path(), MakeCut(1, 20));
  for (const std::uint64_t version : {30, 40, 50}) {
    WriteCheckpoint(dir_.path(), MakeCheckpoint(1, version));
  }
  WriteActorStates(StatesOf(dir_, 1, 60), MakeStates());  // its checkpoint was never written
  Prune(dir_.path(), 2);
  EXPECT_THAT(ListCheckpoints(dir_.path()),
              ElementsAre(dir_ / CheckpointName(1, 20), dir_ / CheckpointName(1, 40),
                          dir_ / CheckpointName(1, 50)));
  EXPECT_FALSE(std::filesystem::exists(StatesOf(dir_, 1, 10)));
  EXPECT_TRUE(std::filesystem::exists(StatesOf(dir_, 1, 20)));
  EXPECT_FALSE(std::filesystem::exists(StatesOf(dir_, 1, 60)));
}

// On a full disk they would only take the room of the next.
TEST_F(ActorStatesTest, GoWhereTheirWeightsCannotBeWritten) {
  const Checkpoint cut = MakeCut(1, 10);
  const auto states = dir_ / "states";
  WriteActorStates(states, *cut.actors);
  const auto room = std::filesystem::file_size(states);
  std::filesystem::remove(states);
  const FileSizeLimit limit(room);  // less than the weights take
  EXPECT_THROW(WriteCheckpoint(dir_.path(), cut), std::system_error);
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

// A shard-0 writer commits the parts; the states are there before.
TEST_F(ActorStatesTest, GoWithACheckpointInParts) {
  const Checkpoint whole = MakeCut(1, 10);
  const auto slices = wire::CutIntoSlices(whole.weights.size(), 2);
  for (const std::size_t shard : {1, 0}) {
    CheckpointWriter writer(dir_.path(), {3}, {}, {shard, 2});
    Checkpoint part = whole;
    static_cast<TrainingState&>(part) = CutOut(whole, slices[shard]);
    if (shard > 0) part.actors.reset();
    ASSERT_TRUE(writer.Submit({std::make_shared<Checkpoint>(std::move(part)), {}}));
    writer.Finish();
    EXPECT_EQ(writer.Poll()->error, "");
  }
  EXPECT_EQ(NewestCut(dir_.path()).checkpoint->actors, MakeStates());
}

}  // namespace
}  // namespace starling::learner
