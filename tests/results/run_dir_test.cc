#include "results/run_dir.h"

#include <gmock/gmock.h>

#include <optional>
#include <system_error>

#include "core/locked_file.h"
#include "learner/storage/journal_writer.h"
#include "tests/support/error_of.h"
#include "tests/support/fleet_fixtures.h"
#include "tests/support/own_disk.h"
#include "tests/support/temp_dir.h"

namespace starling::results {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(RunDirTest, ANameThatNoConfigurationCanHoldIsRefused) {
  TempDir dir;
  const fs::path wanted = dir.path() / "caf\xe9";
  EXPECT_THAT(ErrorOf([&] { CreateRunDir(wanted, false); }), HasSubstr("is no UTF-8 text"));
  EXPECT_FALSE(fs::exists(wanted));
}

TEST(RunDirTest, ANameThatNoLineCanHoldIsRefused) {
  TempDir dir;
  const std::string refusal = ErrorOf([&] { CreateRunDir(dir.path() / "x\x1b[31m/a\nb", false); });
  EXPECT_THAT(refusal, HasSubstr("/x\\x1b[31m/a\\nb cannot be written: it has control characters"));
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(RunDirTest, DefaultOneIsNumberedOn) {
  TempDir dir;
  const fs::path wanted = dir.path() / "runs/breakout";
  EXPECT_EQ(CreateRunDir(wanted, true), wanted);
  EXPECT_EQ(CreateRunDir(wanted, true), dir.path() / "runs/breakout-2");
  EXPECT_EQ(CreateRunDir(wanted, true), dir.path() / "runs/breakout-3");
  fs::remove(dir.path() / "runs/breakout-2");
  EXPECT_EQ(CreateRunDir(wanted, true), dir.path() / "runs/breakout-2");
  EXPECT_TRUE(fs::is_empty(wanted));
  dir.Write("used/file", "");
  EXPECT_EQ(CreateRunDir(dir.path() / "used/", true), dir.path() / "used-2");
  dir.Write("a", "");
  EXPECT_EQ(CreateRunDir(dir.path() / "a", true), dir.path() / "a-2") << "a file has the name";
}

TEST(RunDirTest, ExplicitOneIsCreatedWithItsParents) {
  TempDir dir;
  EXPECT_EQ(CreateRunDir(dir.path() / "x/y/z", false), dir.path() / "x/y/z");
  EXPECT_TRUE(fs::is_directory(dir.path() / "x/y/z"));
}

TEST(RunDirTest, ExplicitOneMayBeEmptyButNotInUse) {
  TempDir dir;
  EXPECT_EQ(CreateRunDir(dir.path(), false), dir.path());
  dir.Write("config.toml", "");
  const auto refusal = [&] { return ErrorOf([&] { CreateRunDir(dir.path(), false); }); };
  const std::string name = dir.path().string();
  EXPECT_EQ(refusal(), "run directory " + name + " is not empty; choose another --run-dir");
  dir.Write("checkpoints/t0001-v000000000000.safetensors", "");
  EXPECT_EQ(refusal(), "run directory " + name +
                           " is not empty; go on with it by: starling train --resume " + name +
                           ", or choose another --run-dir");
}

TEST(RunDirTest, WhatAFailedStartMadeGoesAway) {
  const std::string config = "[staleness]\nbound = 4\n";
  const struct {
    std::vector<std::pair<std::string, std::string>> files;
    bool free;
  } cases[] = {
      {{{"log", ""}}, true},
      {{{"log", ""}, {"config.toml.12.0.tmp", "[stal"}}, true},  // killed while it wrote it
      {{{"log", ""}, {"notes.12.0.tmp", "mine"}}, false},
      {{{"log", "x"}}, false},  // of some other program
      {{{"log", "x"}, {"config.toml", config}}, true},
      {{{"log", "x"}, {"config.toml", "[other]"}}, false},
      {{{"config.toml", config}}, false},  // it may be the operator's
      {{{"config.toml", config}, {"checkpoints/term", "1"}}, true},
      {{{"log", ""}, {"config.toml", config}, {"notes", "mine"}}, false},
      {{{"log", ""},
        {"journal", "x"},
        {"checkpoints/term", "1"},
        {"summary.json", "{\"steps\":0}"}},
       true},
      {{{"log", ""}, {"summary.json", "{\"steps\":320}"}}, false},
      {{{"log", ""}, {"metrics.jsonl", "{\"steps\":0}\n{\"steps\":320}\n"}}, false},
      {{{"log", ""}, {"checkpoints/t0001-v000000000000.safetensors", "x"}}, false},
      // The first checkpoint was never finished; another one was.
      {{{"log", "x"},
        {"config.toml", config},
        {"checkpoints/t0001-v000000000000.actors", "x"},
        {"checkpoints/t0001-v000000000000.safetensors.7.2.tmp", "x"}},
       true},
      {{{"log", "x"}, {"config.toml", config}, {"checkpoints/t0001-v000000000007.actors", "x"}},
       false},
      {{{"log", ""}, {"simulated", ""}}, false},
  };
  for (const auto& [files, free] : cases) {
    TempDir dir;
    for (const auto& [name, text] : files) {
      for (const char* run : {"run/", "named/"}) dir.Write(run + name, text);
    }
    const std::string what = testing::PrintToString(files);
    EXPECT_EQ(CreateRunDir(dir / "run", true), dir / (free ? "run" : "run-2")) << what;
    EXPECT_EQ(ErrorOf([&] { CreateRunDir(dir / "named", false); }).empty(), free) << what;
    for (const char* run : {"run", "named"}) EXPECT_EQ(fs::is_empty(dir / run), free) << what;
  }
}

TEST(RunDirTest, AFailedStartGoesAwayBehindALinkAndFromAVolume) {
  TempDir dir;
  dir.Write("run/log", "");
  fs::create_directory(dir / "run/lost+found");
  fs::create_directory_symlink(dir / "run", dir / "link");
  EXPECT_EQ(CreateRunDir(dir / "link", false), dir / "link");
  EXPECT_FALSE(fs::exists(dir / "run/log"));
  EXPECT_TRUE(fs::exists(dir / "run/lost+found"));
}

// Its disk may come back.
TEST(RunDirTest, CheckpointsBehindALinkAreNotBegunAgain) {
  TempDir dir;
  dir.Write("run/log", "");
  fs::create_symlink(dir / "unplugged", dir / "run/checkpoints");
  EXPECT_THAT(ErrorOf([&] { CreateRunDir(dir / "run", false); }), HasSubstr("is not empty"));
}

TEST(RunDirTest, AJournalWithUpdatesIsNoFailedStart) {
  TempDir dir;
  dir.Write("run/log", "");
  learner::JournalWriter journal(dir / "run/journal", {.term = 1});
  journal.Flush();
  EXPECT_TRUE(IsFailedStart(dir / "run"));
  journal.Append(learner::UpdateRecord{.version = 1, .steps = 160});
  journal.Flush();
  EXPECT_FALSE(IsFailedStart(dir / "run"));
}

TEST(RunDirTest, FilesOfKilledWritersGoAway) {
  TempDir dir;
  for (const char* name : {"config.toml", "config.toml.12.0.tmp", "summary.json.7.1.tmp", "a.tmp"})
    dir.Write(name, "");
  RemoveTemporaries(dir.path());
  EXPECT_TRUE(fs::exists(dir / "config.toml") && fs::exists(dir / "a.tmp"));
  EXPECT_FALSE(fs::exists(dir / "config.toml.12.0.tmp") ||
               fs::exists(dir / "summary.json.7.1.tmp"));
  RemoveTemporaries(dir / "absent");
}

TEST(RunDirTest, AStartThatIsUnderWayIsNotTakenOver) {
  TempDir dir;
  const LockedFile log(dir / "log");
  EXPECT_THAT(ErrorOf([&] { CreateRunDir(dir.path(), false); }), HasSubstr("is not empty"));
}

TEST(RunDirTest, AHeldOneIsFoundAgain) {
  TempDir dir;
  fs::create_directory(dir / "a");
  const HeldDir held(dir / "a");
  EXPECT_EQ(held.Find(), dir / "a");
  fs::rename(dir / "a", dir / "b");
  EXPECT_EQ(held.Find(), dir / "b");
  fs::create_directory(dir / "a");  // another one
  EXPECT_EQ(held.Find(), dir / "b");
  fs::remove(dir / "b");
  EXPECT_EQ(held.Find(), std::nullopt);
}

TEST(RunDirTest, TheCommandToGoOnCanBePasted) {
  TempDir dir;
  dir.Write("my run/config.toml", "");
  dir.Write("my run/checkpoints/t0001-v000000000000.safetensors", "");
  EXPECT_THAT(ErrorOf([&] { CreateRunDir(dir / "my run", false); }),
              HasSubstr("starling train --resume '" + (dir / "my run").string() + "', or choose"));
}

TEST(RunDirTest, OneThatCannotBeWrittenIsNamed) {
  TempDir dir;
  dir.Write("file", "");
  // Below a file nothing can be created, not even by root.
  EXPECT_THAT(ErrorOf([&] { CreateRunDir(dir.path() / "file", false); }),
              HasSubstr("it is not a directory"));
  EXPECT_THAT(ErrorOf([&] { CreateRunDir(dir.path() / "file/run", false); }),
              HasSubstr("run directory " + dir.path().string() +
                        "/file/run cannot be written: Not a directory; choose another --run-dir"));
  EXPECT_THAT(ErrorOf([&] { CreateRunDir("/proc/self/run", true); }),
              HasSubstr("run directory /proc/self/run cannot be written"));
}

TEST(RunDirTest, ReadOnlyDirectoryIsNamed) {
  TempDir dir;
  const uid_t user = ::geteuid();
  fs::permissions(dir.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const TempDir full;  // a run
  full.Write("config.toml", "");
  full.Write("checkpoints/t0001-v000000000000.safetensors", "");
  fs::permissions(full.path(), static_cast<fs::perms>(0555));
  if (user == 0) {  // who writes everywhere
    ASSERT_EQ(::seteuid(65'534), 0);
  }
  EXPECT_THAT(ErrorOf([&] { CreateRunDir(dir.path(), false); }),
              HasSubstr("cannot be written: Permission denied; choose another --run-dir"));
  // A run that exists has no other directory.
  EXPECT_THAT(ErrorOf([&] { CheckResumable(full.path()); }),
              HasSubstr("cannot be written: Permission denied; free space there, or check its "
                        "permissions"));
  ASSERT_EQ(::seteuid(user), 0);
  fs::permissions(dir.path(), fs::perms::owner_all);
  fs::permissions(full.path(), fs::perms::owner_all);
}

// Nobody's mistake: whoever starts runs again may try later.
TEST(RunDirTest, AFullDiskIsNoMistake) {
  const TempDir dir;
  const OwnDisk disk(dir.path(), 1);
  if (!disk.trouble().empty()) GTEST_SKIP() << "no disk of our own here: " << disk.trouble();
  OwnDisk::Fill(dir / "filler");
  try {
    WriteConfig(dir.path(), Config{});
    ADD_FAILURE() << "it could";
  } catch (const UserError& error) {
    ADD_FAILURE() << error.what();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("cannot be written: No space left on device; free space there"));
  }
}

TEST(RunDirTest, WhatCanBeResumed) {
  TempDir dir;
  EXPECT_THAT(ErrorOf([&] { CheckResumable(dir.path() / "no"); }),
              HasSubstr("there is no such directory"));
  EXPECT_THAT(ErrorOf([&] { CheckResumable(dir.path()); }), HasSubstr("not a run"));
  dir.Write("config.toml", "");
  dir.Write("checkpoints/notes.txt", "");
  EXPECT_FALSE(HasCheckpoint(dir.path()));
  EXPECT_THAT(ErrorOf([&] { CheckResumable(dir.path()); }), HasSubstr("it has no checkpoint"));
  dir.Write("checkpoints/t0001-v000000000000.safetensors", "");
  EXPECT_TRUE(HasCheckpoint(dir.path()));
  EXPECT_EQ(ErrorOf([&] { CheckResumable(dir.path()); }), "");
}

TEST(RunDirTest, WhatAStartThatWasKilledLeftIsNothing) {
  TempDir dir;
  EXPECT_TRUE(IsUnused(dir / "absent"));
  EXPECT_TRUE(IsUnused(dir.path()));
  dir.Write("run/.probe", "");
  dir.Write("run/.probe.17.0.tmp", "");
  EXPECT_TRUE(IsUnused(dir / "run"));
  EXPECT_EQ(CreateRunDir(dir / "run", /*may_number=*/false), dir / "run");
  fs::create_directory(dir / "run/lost+found");  // a new volume
  EXPECT_TRUE(IsUnused(dir / "run"));
  dir.Write("run/log", "");
  EXPECT_FALSE(IsUnused(dir / "run"));
  EXPECT_FALSE(IsUnused(dir / "run/log")) << "a file";
}

TEST(RunDirTest, ConfigCanBeReadBack) {
  TempDir dir;
  Config config = ParseConfig("[run]\nsteps = 1234\n", "x.toml");
  config.run.dir = dir.path().string();
  WriteConfig(dir.path(), config);
  EXPECT_EQ(LoadConfig(dir.path() / "config.toml"), config);
  EXPECT_THAT(ErrorOf([&] { WriteConfig(dir.path() / "no", config); }),
              HasSubstr("/no cannot be written"));
}

TEST(RunDirTest, KeysAreFoundFromAnywhere) {
  TempDir dir;
  Config config = ParseConfig(
      "[wire]\nendpoint = \"tcp://*:1\"\nsecret = \"keys/us.secret\"\nallowed = \"./keys/ok\"\n",
      "x.toml");
  WriteConfig(dir.path(), config);
  const WireConfig wire = LoadConfig(dir.path() / "config.toml").wire;
  EXPECT_EQ(wire.secret, std::filesystem::current_path() / "keys/us.secret");
  EXPECT_EQ(wire.allowed, std::filesystem::current_path() / "keys/ok");
}

}  // namespace
}  // namespace starling::results
