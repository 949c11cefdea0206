// The whole screen, written out.
#include "monitor/screen/screen.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "core/config/config.h"
#include "tests/monitor/columns.h"

namespace starling::monitor {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr RunFacts kFacts{
    .env = {}, .seed = 7, .bound = 4, .drop = false, .goal = {5'000'000}, .actors = 4};

// A run of `seconds`: the return rises to 20, and 80,000 steps a second come from all actors alike.
class FakeRun {
 public:
  FakeRun(int actors, int seconds, std::uint64_t bound = 4)
      : actors_(actors), history_(Facts(bound), actors, 0) {
    learner::RunStatus status;
    for (int tick = 0; tick <= 5 * seconds; ++tick) {
      now_ms_ = 200 * tick;
      status = At(tick);
      history_.Add(now_ms_, status);
    }
    processes_.assign(static_cast<std::size_t>(actors), {.alive = true, .accepted = true});
  }

  std::vector<ActorProcess>& processes() { return processes_; }
  std::vector<std::string> Lines(int width, int height, bool utf8 = true, bool color = false) {
    return ScreenLines(history_.View(now_ms_, processes_, false), {width, utf8, color, height});
  }

 private:
  static RunFacts Facts(std::uint64_t bound) {
    RunFacts facts = kFacts;
    facts.env = "minatar/breakout";
    facts.bound = bound;
    return facts;
  }

  learner::RunStatus At(int tick) const {
    const double second = tick / 5.0;
    const auto steps = static_cast<std::uint64_t>(16'000 * tick);
    learner::RunStatus status;
    status.phase = "running";
    status.term = 1;
    status.steps = steps;
    status.version = steps / 160;
    if (tick > 0) status.mean_return = 20 * (1 - std::exp(-second / 10));
    status.staleness = {.max = 3, .mean = 1.2, .histogram = {300, 400, 250, 50}};
    status.time = {
        .actors = {.wait = 0.1 * second, .act = 0.4 * second, .gradient = 0.5 * second},
        .learner = {.receive = 0.2 * second, .idle = 0.8 * second, .lanes = 0.3 * second}};
    status.actors_alive = actors_;
    for (int slot = 0; slot < actors_; ++slot) {
      const auto own = steps / static_cast<std::uint64_t>(actors_);
      status.joined.push_back(
          {.slot = slot,
           .incarnation = 1,
           .accepted = own / 160,
           .steps = own,
           .version = status.version - std::min<std::uint64_t>(status.version, 1),
           .staleness = 1,
           .wait_us = static_cast<std::uint64_t>(20'000 * tick)});
    }
    return status;
  }

  int actors_;
  RunHistory history_;
  std::vector<ActorProcess> processes_;
  std::int64_t now_ms_ = 0;
};

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(ScreenTest, OfAnOrdinaryTerminal) {
  FakeRun run(4, 20);
  EXPECT_EQ('\n' + Joined(run.Lines(80, 24)), R"(
minatar/breakout  seed 7  bound 4, wait                 0:20 elapsed, 0:43 left
return                            17.3  steps per second                  80.0k
     20┤                                    80k┤⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉
       │              ⣀⡠⠤⠔⠒⠊⠁                  │
       │          ⣀⠤⠒⠉                         │
       │       ⡠⠔⠉                             │
     10┤    ⢀⠤⠊                             40k┤
       │   ⡰⠁                                  │
       │ ⡠⠊                                    │
      0┤⠔⠁                                    0┤
       └0:00 ─────── 0:15 ─────── 0:30         └0:00 ─────── 0:15 ──────── 0:30
staleness    mean 1.2  bound 4  actor state      version   lag steps/s restarts
   40 %┤    ███             ┃       0 alive         9999     1   20.0k        0
       │▄▄▄ ███             ┃       1 alive         9999     1   20.0k        0
       │███ ███ ▆▆▆         ┃       2 alive         9999     1   20.0k        0
       │███ ███ ███         ┃       3 alive         9999     1   20.0k        0
       │███ ███ ███         ┃
       ┤███ ███ ███ ▆▆▆     ┃
       └0───1───2───3───4───┃─
bottleneck the actors: they compute 90 % of the time (act 40 %, gradient 50 %);
           the learner's lanes are busy 30 %, its network thread 20 %
███░░░░░░░░  32% 1.60M/5.00M 80.0k/s 0:43 left return 17.3 stale 1.2/3 4 actors

)");
}

TEST(ScreenTest, OfTheSmallestTerminalInAscii) {
  FakeRun run(4, 20);
  EXPECT_EQ('\n' + Joined(run.Lines(60, 16, /*utf8=*/false)), R"(
minatar/breakout  seed 7  bound 4   0:20 elapsed, 0:43 left
return                                                 17.3
     20+                        ***********
     10+     *******************
      0+*****
       +0:00 ----------------- 0:15 ------------------ 0:30
actor state      version   lag steps/s waits restarts
    0 alive         9999     1   20.0k  10 %        0
    1 alive         9999     1   20.0k  10 %        0
 ...and 2 more: 2 alive, 20.0k to 20.0k steps/s
bottleneck the actors: they compute 90 % of the time (act
           40 %, gradient 50 %); the learner's lanes are
           busy 30 %, its network thread 20 %
[###-------]  32% 1.60M/5.00M 80.0k/s 0:43 left return 17.3

)");
}

// Rounded to rows, 10 and 15 of five ticks would stand apart, and 5 and 10 side by side.
TEST(ScreenTest, TicksStandEvenlyOrAreLeftOut) {
  FakeRun run(4, 20);
  for (int height = 16; height <= 60; ++height) {
    std::vector<int> gaps;  // rows from one label of the return to the next
    int row = 0, before = -1;
    for (const std::string& line : run.Lines(80, height, /*utf8=*/false)) {
      if (line.starts_with("       +")) break;
      if (line.size() > 7 && line[7] == '+') {
        if (before >= 0) gaps.push_back(row - before);
        before = row;
      }
      ++row;
    }
    ASSERT_FALSE(gaps.empty()) << height;
    const auto [least, most] = std::ranges::minmax(gaps);
    EXPECT_TRUE(least > 1 || most == 1) << height;
  }
}

TEST(ScreenTest, ColoursAreOnTopOfTheSameText) {
  FakeRun run(4, 20);
  run.processes()[2] = {.alive = false, .accepted = false, .restarts = 3};
  const auto plain = run.Lines(80, 24), colored = run.Lines(80, 24, true, /*color=*/true);
  ASSERT_EQ(plain.size(), colored.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(std::regex_replace(colored[i], std::regex("\033\\[[0-9]*m"), ""), plain[i]);
  }
  EXPECT_THAT(Joined(colored), HasSubstr("\033[31mdead "));
}

TEST(ScreenTest, BeforeAnythingIsKnown) {
  RunHistory history(kFacts, 2, 0);
  const RunView view = history.View(0, {{}, {}}, false);
  const std::string text = Joined(ScreenLines(view, {80, true, false, 24}));
  for (const char* said :
       {"no episode has ended yet", "not known yet", "dead", "starting", "0:00 elapsed"}) {
    EXPECT_THAT(text, HasSubstr(said));
  }
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("left")));
}

TEST(ScreenTest, FitsEveryTerminal) {
  for (const int actors : {1, 16, 1024}) {
    FakeRun run(actors, 20);
    for (const int width : {60, 61, 75, 76, 77, 80, 100, 120, 199, 400}) {
      for (const int height : {16, 17, 24, 29, 30, 50, 120}) {
        for (const bool utf8 : {false, true}) {
          const auto lines = run.Lines(width, height, utf8);
          ASSERT_FALSE(lines.empty());
          ASSERT_LT(static_cast<int>(lines.size()), height);
          EXPECT_EQ(lines.back(), "");
          for (const std::string& line : lines) {
            ASSERT_LT(Columns(line), width) << width << " x " << height << "\n" << line;
          }
          EXPECT_THAT(Joined(lines), Not(HasSubstr("nan")));
        }
      }
    }
  }
}

TEST(ScreenTest, ItsHeightDependsOnTheTerminalAlone) {
  RunHistory early(kFacts, 4, 0);
  const std::vector<ActorProcess> processes(4);
  const RunView first = early.View(0, processes, false);
  FakeRun late(4, 50);
  for (const int height : {16, 24, 40, 60}) {
    EXPECT_THAT(late.Lines(100, height),
                SizeIs(ScreenLines(first, {100, true, false, height}).size()));
  }
}

TEST(ScreenTest, WhoGoesHomeAtTheEndIsNotCalledDead) {
  RunHistory history(kFacts, 1, 0);
  history.View(0, {{.alive = true, .accepted = true}}, false);
  const RunView view = history.View(1000, {{.alive = false, .accepted = true}}, true);
  EXPECT_NE(view.actors[0].state, ActorRow::State::kDead);
}

}  // namespace
}  // namespace starling::monitor
