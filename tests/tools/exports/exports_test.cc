// `starling export` as it is called.
#include "tools/exports/exports.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/file.h"
#include "tests/results/first_checkpoint.h"
#include "tests/support/fleet_fixtures.h"

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
  EXPECT_THAT(finished.err, HasSubstr("weights of catch after 1,000 steps, opset 17"));
  const std::string file = ReadFile(dir_ / "catch.onnx");
  for (const char* word : {"observation", "logits", "action", "value", "fc1/Gemm", "environment"}) {
    EXPECT_THAT(file, HasSubstr(word));
  }
}

TEST_F(ExportTest, SaysWhatIsWrongBeforeItReadsWeights) {
  EXPECT_THAT(Mistake({"nothing", "--onnx", "x.onnx"}),
              HasSubstr("nothing is neither a run directory nor a checkpoint"));
  EXPECT_THAT(Mistake({"nothing", "--onnx", "no/x.onnx"}),
              HasSubstr("--onnx no/x.onnx: there is no directory no"));
  EXPECT_THAT(Mistake({"nothing", "--onnx", "."}), HasSubstr("--onnx . is a directory"));
  EXPECT_THAT(Mistake({"nothing"}), HasSubstr("--onnx is required"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "x.onnx"));
}

}  // namespace
}  // namespace starling::exports
