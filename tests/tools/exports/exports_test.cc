// `starling export` as it is called.
#include "tools/exports/exports.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/file.h"
#include "core/safetensors.h"
#include "tests/results/first_checkpoint.h"
#include "tests/support/fleet_fixtures.h"
#include "tools/exports/policy_torch.h"

namespace starling::exports {
namespace {

using ::testing::HasSubstr;

class ExportTest : public ::testing::Test {
 protected:
  Finished Export(std::vector<std::string> words) {
    words.insert(words.begin(), {STARLING_PROGRAM, "export"});
    return RunProgram(dir_, words);
  }
  std::string Mistake(const std::vector<std::string>& words) {
    const Finished finished = Export(words);
    EXPECT_EQ(finished.status, kExitUserError) << ::testing::PrintToString(words);
    EXPECT_EQ(finished.out, "");
    return finished.err;
  }
  TempDir dir_;
};

TEST_F(ExportTest, WritesThePolicyOfACheckpoint) {
  const Config config = ParseConfig(
      "", "test", {"env.name=catch", "net.kind=mlp", "actors.count=1", "run.name=test"});
  learner::WriteCheckpoint(dir_ / "run/checkpoints", results::FirstCheckpoint(config));
  const Finished finished = Export({"run", "--onnx", "catch.onnx"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, "catch.onnx\n");
  EXPECT_THAT(finished.err, HasSubstr("weights of catch after 1,000 steps"));
  const std::string file = ReadFile(dir_ / "catch.onnx");
  for (const char* word : {"observation", "logits", "action", "value", "fc1/Gemm", "environment"}) {
    EXPECT_THAT(file, HasSubstr(word));
  }
  // A file behind a link is the one that is written.
  std::filesystem::create_symlink("catch.onnx", dir_ / "link.onnx");
  dir_.Write("catch.onnx", "old");
  EXPECT_EQ(Export({"run", "--onnx", "link.onnx"}).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(dir_ / "link.onnx"));
  EXPECT_EQ(ReadFile(dir_ / "catch.onnx"), file);
}

TEST_F(ExportTest, WritesAModuleBesideSafetensors) {
  const Config config = ParseConfig("", "test", {"env.name=catch", "net.kind=mlp"});
  const auto checkpoint =
      learner::WriteCheckpoint(dir_ / "run/checkpoints", results::FirstCheckpoint(config));
  for (int time = 1; time <= 2; ++time) {  // the second overwrites its own files
    const Finished finished = Export({"run", "--safetensors", "catch.safetensors"});
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.out, "catch.safetensors\ncatch.py\n");
  }
  EXPECT_EQ(ReadFile(dir_ / "catch.py"), kPolicyInTorch);
  EXPECT_TRUE(SafetensorsFile::Read(dir_ / "catch.safetensors").metadata().contains("environment"));
  // Neither a checkpoint nor a program of the user's is lost.
  std::filesystem::copy_file(checkpoint, dir_ / "kept.safetensors");
  EXPECT_THAT(Mistake({"run", "--safetensors", "kept.safetensors"}),
              HasSubstr("is there and is no exported policy: it is not overwritten"));
  EXPECT_EQ(ReadFile(dir_ / "kept.safetensors"), ReadFile(checkpoint));
  dir_.Write("mine.py", "print(1)\n");
  EXPECT_THAT(
      Mistake({"run", "--safetensors", "mine.safetensors"}),
      HasSubstr("mine.py is there and is not what would be written: it is not overwritten"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "mine.safetensors"));
  EXPECT_THAT(Mistake({"run", "--safetensors", "x.onnx"}), HasSubstr("must end in .safetensors"));
  for (const char* name : {"torch", "my-policy", "1st", "v1.2"}) {
    EXPECT_THAT(Mistake({"run", "--safetensors", std::string(name) + ".safetensors"}),
                HasSubstr("which Python cannot import: use another name"));
  }
}

TEST_F(ExportTest, SaysWhatIsWrongBeforeItReadsWeights) {
  EXPECT_THAT(Mistake({"nothing", "--onnx", "x.onnx"}),
              HasSubstr("nothing is neither a run directory nor a checkpoint"));
  EXPECT_THAT(Mistake({"nothing", "--onnx", "no/x.onnx"}),
              HasSubstr("--onnx no/x.onnx: there is no directory no"));
  EXPECT_THAT(Mistake({"nothing", "--onnx", "x.safetensors"}),
              HasSubstr("--onnx x.safetensors: its name must end in .onnx"));
  std::filesystem::create_directory(dir_ / "dir.onnx");
  EXPECT_THAT(Mistake({"nothing", "--onnx", "dir.onnx"}), HasSubstr("dir.onnx is a directory"));
  ASSERT_EQ(::mkfifo((dir_ / "pipe.onnx").c_str(), 0600), 0);
  EXPECT_THAT(Mistake({"nothing", "--onnx", "pipe.onnx"}), HasSubstr("is a pipe or a device"));
  EXPECT_THAT(Mistake({"nothing", "--onnx", std::string(300, 'x') + ".onnx"}),
              HasSubstr("cannot be written: File name too long"));
  EXPECT_THAT(Mistake({"nothing"}), HasSubstr("--onnx FILE or --safetensors FILE is required"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "x.onnx"));
}

}  // namespace
}  // namespace starling::exports
