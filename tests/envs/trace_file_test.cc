#include "envs/trace.h"

#include <gmock/gmock.h>

#include "core/file.h"
#include "tests/envs/recordings.h"
#include "tests/support/error_of.h"

namespace starling::envs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A game of one row, five columns and two channels: ten bits, three hex digits' worth, in four.
const std::string kHeaderLine =
    R"({"game":"line","sticky_action_prob":0.1,"shape":[1,5,2],"channels":{"b":1,"a":0},)"
    R"("actions":["noop","go"]})";
const std::string kResetLine = R"({"reset":true,"d":[],"s":"8040"})";
const std::string kStepLine = R"({"a":1,"d":[["rand",[],0.25]],"r":-1.5,"t":false,"s":"0000"})";

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Reads the file to its end. Returns its refusal, or "".
std::string TraceRefusal(const std::filesystem::path& path) {
  return ErrorOf([&] {
    TraceFile file(path);
    TraceEvent event;
    while (file.Next(event)) {
    }
  });
}

using TraceFileTest = TempDirTest;

TEST_F(TraceFileTest, ReadsHeaderResetAndStep) {
  TraceFile file(WriteGzip(dir_, "line.jsonl.gz", {kHeaderLine, kResetLine, kStepLine}));
  EXPECT_EQ(file.header().game, "line");
  EXPECT_EQ(file.header().sticky_actions, 0.1);
  EXPECT_EQ(file.header().obs_size(), 10);
  EXPECT_THAT(file.header().channel_names, ElementsAre("a", "b"));
  EXPECT_THAT(file.header().action_names, ElementsAre("noop", "go"));
  TraceEvent event;
  ASSERT_TRUE(file.Next(event));
  EXPECT_TRUE(event.reset);
  EXPECT_EQ(event.line, 2);
  EXPECT_THAT(event.observation, ElementsAre(1, 0, 0, 0, 0, 0, 0, 0, 0, 1));
  ASSERT_TRUE(file.Next(event));
  EXPECT_FALSE(event.reset);
  EXPECT_EQ(event.line, 3);
  EXPECT_EQ(event.action, 1);
  EXPECT_EQ(event.reward, -1.5);
  EXPECT_FALSE(event.terminal);
  ASSERT_EQ(event.draws.size(), 1u);
  EXPECT_EQ(event.draws[0].value, 0.25);
  EXPECT_FALSE(file.Next(event));
}

TEST_F(TraceFileTest, NumbersAChannelWithoutAName) {
  std::string header = kHeaderLine;
  Edit(header, [](nlohmann::json& line) { line["channels"].erase("a"); });
  const TraceFile file(dir_.Write("unnamed.jsonl", header + "\n"));
  EXPECT_THAT(file.header().channel_names, ElementsAre("#0", "b"));
}

TEST_F(TraceFileTest, ReadsPlainLinesAndALastLineWithoutItsEnd) {
  std::string text = Joined({kHeaderLine, kResetLine, kStepLine});
  text.pop_back();
  EXPECT_EQ(TraceRefusal(dir_.Write("plain.jsonl", text)), "");
}

// The calls of numpy's generator that the MinAtar package makes.
TEST_F(TraceFileTest, ReadsEveryWayOfDrawing) {
  const std::string draws =
      R"([["randint",[3],2],["randint",[1,9],8],["randint",[["low",1],["high",9]],4],)"
      R"(["rand",[2],[0.5,0.75]],["randint",[1,6,2],[5,1]],["choice",[4],3],["choice",[[7,9]],9]])";
  TraceFile file(dir_.Write(
      "draws.jsonl", Joined({kHeaderLine, R"({"reset":true,"s":"0000","d":)" + draws + "}"})));
  TraceEvent event;
  ASSERT_TRUE(file.Next(event));
  ScriptedChance chance(event.draws);
  EXPECT_EQ(chance.Below(3), 2);
  EXPECT_EQ(chance.Between(1, 9), 8);
  EXPECT_EQ(chance.Between(1, 9), 4);
  EXPECT_EQ(chance.Uniform(), 0.5);
  EXPECT_EQ(chance.Uniform(), 0.75);
  EXPECT_EQ(chance.Between(1, 6), 5);
  EXPECT_EQ(chance.Between(1, 6), 1);
  EXPECT_EQ(chance.Below(4), 3);
  EXPECT_EQ(chance.Below(2), 1) << "choice(list): the index drawn";
  EXPECT_EQ(chance.Mismatch(), "");
}

TEST_F(TraceFileTest, RefusesWhatCannotBeRead) {
  EXPECT_THAT(TraceRefusal(dir_.path() / "absent.jsonl.gz"),
              AllOf(HasSubstr("absent.jsonl.gz"), HasSubstr("No such file")));
  EXPECT_THAT(TraceRefusal(dir_.path()), HasSubstr("is a directory"));
  EXPECT_THAT(TraceRefusal(dir_.Write("empty", "")), HasSubstr("is empty"));
  EXPECT_THAT(TraceRefusal(dir_.Write("bytes", std::string("\x1f\x8b\xff\0\1\2", 6))),
              HasSubstr("bytes:1: "));
  EXPECT_THAT(TraceRefusal(dir_.Write("long", std::string(3 << 20, '{'))),
              HasSubstr("longer than 1 MiB"));
}

TEST_F(TraceFileTest, RefusesAFileCutShort) {
  const std::string whole = ReadFile(TraceData("breakout_skill.jsonl.gz"));
  for (const std::size_t size : {whole.size() / 2, whole.size() - 9, whole.size() - 1}) {
    EXPECT_THAT(TraceRefusal(dir_.Write("cut.jsonl.gz", whole.substr(0, size))),
                HasSubstr("damaged or cut short"))
        << size << " of " << whole.size();
  }
}

// One key of a sound line replaced by `value`, or left out where `value` is empty.
std::string Changed(std::string line, const char* key, const std::string& value) {
  Edit(line, [&](nlohmann::json& json) {
    json.erase(key);
    if (!value.empty()) json[key] = nlohmann::json::parse(value);
  });
  return line;
}

TEST_F(TraceFileTest, RefusesMalformedLinesNamingThem) {
  const auto expect_refused = [&](const std::vector<std::string>& lines, int line,
                                  const char* says) {
    const std::string where = "bad.jsonl:" + std::to_string(line) + ": ";
    EXPECT_THAT(TraceRefusal(dir_.Write("bad.jsonl", Joined(lines))),
                AllOf(HasSubstr(where), HasSubstr(says)))
        << Joined(lines);
  };
  // 1. Lines that are no object, and episodes without a beginning.
  expect_refused({"{"}, 1, "parse error");
  expect_refused({"[1]"}, 1, "not a JSON object");
  expect_refused({kHeaderLine, ""}, 2, "parse error");
  expect_refused({kHeaderLine, kResetLine + std::string(1, '\0') + "more"}, 2, "NUL");
  expect_refused({kHeaderLine, kStepLine}, 2, "without a reset");
  expect_refused({kHeaderLine, kResetLine, Changed(kStepLine, "t", "true"), kStepLine}, 4,
                 "without a reset");

  // 2. A key that is missing or wrong, in the first (header), second (reset) or third line (step).
  const struct {
    int line;
    const char *key, *value, *says;
  } wrong[] = {
      {1, "game", "", "\"game\" is missing"},
      {1, "game", "3", "must be string"},
      {1, "sticky_action_prob", "1.5", "not in [0, 1]"},
      {1, "shape", "[1,5]", "\"shape\" is not"},
      {1, "shape", "[1000,1000,1000]", "number of channels"},
      {1, "shape", "[1,0,2]", "the width is not an integer in [1, "},
      {1, "channels", R"({"a":2})", "a channel's index"},
      {1, "actions", "[1]", "must be string"},
      {2, "reset", "1", "neither true nor false"},
      {2, "d", "", "\"d\" is missing"},
      {2, "s", "\"80400\"", "holds 5 hex digits, 10 cells need 4"},
      {2, "s", "\"80g0\"", "holds 'g'"},
      {3, "a", "2", "action is not an integer in [0, 2)"},
      {3, "a", "0.5", "action is not an integer"},
      {3, "r", "\"1\"", "reward is not a number"},
      {3, "t", "", "\"t\" is missing"},
      {3, "d", R"([["rand",[]]])", "[function, arguments, result]"},
      {3, "d", R"([["rand",[],1.0]])", "not in [0, 1)"},
      {3, "d", R"([["randint",[2],2]])", "integer in [0, 2)"},
      {3, "d", R"([["randint",[],0]])", "randint takes"},
      {3, "d", R"([["choice",[[1,2]],3]])", "not in its list"},
      {3, "d", R"([["poisson",[2],2]])", "\"poisson\" are not known"},
  };
  for (const auto& [line, key, value, says] : wrong) {
    std::vector<std::string> lines = {kHeaderLine, kResetLine, kStepLine};
    std::string& changed = lines[static_cast<std::size_t>(line - 1)];
    changed = Changed(changed, key, value);
    expect_refused(lines, line, says);
  }
}

}  // namespace
}  // namespace starling::envs
