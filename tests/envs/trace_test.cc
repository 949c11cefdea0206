#include "envs/trace.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/file.h"
#include "tests/envs/recordings.h"
#include "tests/support/error_of.h"

namespace starling::envs {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

struct Recording {
  const char* name;  // GAME_POLICY
  long steps;
  friend void PrintTo(const Recording& recording, std::ostream* out) { *out << recording.name; }
};

constexpr Recording kRecordings[] = {
    {"asterix_random", 3000},      {"asterix_hold", 3000},          {"asterix_search", 4000},
    {"breakout_random", 3000},     {"breakout_hold", 3000},         {"breakout_search", 4000},
    {"breakout_skill", 4000},      {"freeway_random", 3000},        {"freeway_hold", 3000},
    {"freeway_search", 4000},      {"seaquest_random", 3000},       {"seaquest_hold", 3000},
    {"seaquest_search", 4000},     {"seaquest_skill", 3500},        {"space_invaders_random", 3000},
    {"space_invaders_hold", 3000}, {"space_invaders_search", 4000},
};

class Recorded : public testing::TestWithParam<Recording> {};

TEST_P(Recorded, OursConformsAtEveryStep) {
  const TraceResult result = Conform(TraceData(std::string(GetParam().name) + ".jsonl.gz"));
  EXPECT_TRUE(result.conforms) << result.first_difference;
  EXPECT_EQ(result.first_difference, "");
  EXPECT_EQ(result.steps, GetParam().steps);
}

INSTANTIATE_TEST_SUITE_P(Minatar, Recorded, testing::ValuesIn(kRecordings),
                         [](const auto& test) { return std::string(test.param.name); });

const std::vector<std::string>& Skilled() {
  static const auto lines = GunzippedLines(TraceData("breakout_skill.jsonl.gz"));
  return lines;
}

// The recording of a player who begins with left (paddle 4 to 3) and right (back to 4), spoilt in
// one place: the difference must be found there and nowhere else.
class Spoilt : public TempDirTest {
 protected:
  // The answer to the recording in which step `step` (0: the first reset) is changed.
  TraceResult With(int step, const std::function<void(json&)>& change) {
    std::vector<std::string> lines = Skilled();
    Edit(lines[step == 0 ? 1 : LineOfStep(lines, step)], change);
    const TraceResult result = Conform(WriteGzip(dir_, "spoilt.jsonl.gz", lines));
    EXPECT_FALSE(result.conforms);
    EXPECT_EQ(result.steps, std::max(step - 1, 0)) << "the steps before it agree";
    return result;
  }
};

TEST_F(Spoilt, ObservationIsDrawnByChannel) {
  // Cell (9, 9) has the last four bits: paddle, ball, trail, brick.
  const TraceResult result = With(2, [](json& step) {
    std::string bits = step["s"];
    ASSERT_EQ(bits.back(), '0');
    bits.back() = '8';
    step["s"] = bits;
  });
  EXPECT_EQ(result.first_difference,
            "line 4, step 2, action 3 (right)\n"
            "  observation (# both, . neither, - recorded only, + got only):\n"
            "  channel paddle: (row, column) (9, 9) recorded 1, got 0\n"
            "      ..........\n      ..........\n      ..........\n      ..........\n"
            "      ..........\n      ..........\n      ..........\n      ..........\n"
            "      ..........\n      ....#....-\n");
}

struct Change {
  const char* what;
  int step;
  std::function<void(json&)> change;
  std::vector<std::string> says;
};

TEST_F(Spoilt, EachDifferenceIsNamedAtItsStep) {
  const auto with_bits = [](json& step, std::size_t from, std::size_t to, char bit) {
    std::string bits = step["s"];
    step["s"] = bits.replace(from, to - from, to - from, bit);
  };
  const Change changes[] = {
      {"a brick in cell (0, 0), where none can be, far into the recording",
       3500,
       [&](json& step) { with_bits(step, 0, 1, '1'); },
       {"step 3500,", "channel brick: (row, column) (0, 0) recorded 1, got 0"}},
      {"the two upper rows of bricks",
       2,
       [&](json& step) { with_bits(step, 10, 30, '0'); },
       {"(1, 5) recorded 0, got 1; and 14 more\n", "      ..........\n      ++++++++++\n"}},
      {"reward",
       50,
       [](json& step) { step["r"] = step["r"].get<double>() + 2; },
       {"step 50,", "  reward: recorded 2, got 0\n"}},
      {"end",
       50,
       [](json& step) { step["t"] = !step["t"].get<bool>(); },
       {"step 50,", "end of the episode: recorded true, got false"}},
      {"action",
       2,
       [](json& step) { step["a"] = 1; },
       {"line 4, step 2, action 1 (left)\n",
        "paddle: (row, column) (9, 2) recorded 0, got 1; (9, 4) recorded 1, got 0\n"}},
      {"sticky draw",
       2,
       [](json& step) { step["d"][0][2] = 0.05; },
       {"line 4, step 2, action 3 (right), sticky: played 1 (left)\n"}},
      {"draw of a reset",
       0,
       [](json& reset) { reset["d"][0][2] = 0; },
       {"line 2, the reset before step 1\n", "ball: (row, column) (3, 0) recorded 0, got 1"}},
      {"draw of another kind",
       3,
       [](json& step) {
         step["d"][0] = {"randint", json::array({2}), 1};
       },
       {"draws: the game asked for a real in [0, 1)"}},
      {"draw too many",
       4,
       [](json& step) {
         step["d"].push_back({"rand", json::array(), 0.5});
       },
       {"draws: 1 of 2 draws left over"}},
      {"draw missing",
       5,
       [](json& step) { step["d"] = json::array(); },
       {"as draw 1, the script holds 0"}},
  };
  for (const auto& [what, step, change, says] : changes) {
    const std::string difference = With(step, change).first_difference;
    for (const std::string& part : says) EXPECT_THAT(difference, HasSubstr(part)) << what;
  }
}

TEST_F(Spoilt, ALineLeftOut) {
  std::vector<std::string> lines = Skilled();
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(LineOfStep(lines, 30)));
  const TraceResult result = Conform(WriteGzip(dir_, "short.jsonl.gz", lines));
  EXPECT_FALSE(result.conforms);
  EXPECT_EQ(result.steps, 29);
}

using ConformTest = TempDirTest;

TEST_F(ConformTest, RemembersTheStickyActionAcrossAReset) {
  // The first episodes end with a step whose action is repeated in the first step of the next.
  std::vector<std::string> lines = GunzippedLines(TraceData("breakout_hold.jsonl.gz"));
  bool reached = false;
  int last = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const json line = json::parse(lines[i]);
    if (line.contains("reset")) continue;
    const bool sticky = line["d"][0][2] < 0.1;
    const bool first = json::parse(lines[i - 1]).contains("reset");
    reached |= first && sticky && last != 0 && line["a"] != last;
    if (!sticky) last = line["a"];
  }
  EXPECT_TRUE(reached) << "so the recordings above hold it";
}

TEST_F(ConformTest, RefusesGamesAndVariantsThatWeDoNotHave) {
  const auto refusal = [&](const char* key, const json& value) {
    std::vector<std::string> lines = Skilled();
    Edit(lines[0], [&](json& line) { line[key] = value; });
    return ErrorOf([&] { Conform(WriteGzip(dir_, "other.jsonl.gz", lines)); });
  };
  EXPECT_THAT(refusal("game", "tetris"),
              testing::AllOf(HasSubstr("other.jsonl.gz"), HasSubstr("breakout")));
  EXPECT_THAT(refusal("shape", {8, 10, 4}), HasSubstr("(8, 10, 4)"));
  EXPECT_THAT(refusal("actions", {"noop", "left", "right"}), HasSubstr("3 actions"));
}

TEST_F(ConformTest, RefusesARecordingWithoutSteps) {
  const std::vector<std::string> lines(Skilled().begin(), Skilled().begin() + 2);
  EXPECT_THAT(ErrorOf([&] { Conform(WriteGzip(dir_, "none.jsonl.gz", lines)); }),
              HasSubstr("no step"));
}

TEST_F(ConformTest, ADamagedFileNeverPasses) {
  const std::string whole = ReadFile(TraceData("breakout_hold.jsonl.gz"));
  for (int i = 0; i < 16; ++i) {
    std::string damaged = whole;
    const std::size_t at = 64 + (damaged.size() - 65) * static_cast<std::size_t>(i) / 15;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    bool passed = false;
    try {
      passed = Conform(dir_.Write("damaged.jsonl.gz", damaged)).conforms;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr("damaged.jsonl.gz:"));
    }
    EXPECT_FALSE(passed) << "byte " << at;
  }
}

}  // namespace
}  // namespace starling::envs
