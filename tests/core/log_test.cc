#include "core/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/in_child.h"

namespace starling {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

std::string Captured(const std::function<void()>& speak) {
  testing::internal::CaptureStderr();
  InitLog("learner");  // looks at the new standard error, a file, to decide on colour
  speak();
  return testing::internal::GetCapturedStderr();
}

TEST(Log, ALineIsTimeLevelProcessText) {
  const std::string text = Captured([] {
    LogInfo("{} actors", 2);
    LogWarn("a");
    LogError("b");
  });
  EXPECT_THAT(text, MatchesRegex("[0-9:]+\\.[0-9]+ info  learner: 2 actors\n"
                                 "[0-9:]+\\.[0-9]+ warn  learner: a\n"
                                 "[0-9:]+\\.[0-9]+ error learner: b\n"));
  EXPECT_EQ(text.find(' '), std::string("12:34:56.789").size());
}

TEST(Log, LevelsBelowTheLeastAreSilent) {
  EXPECT_EQ(Captured([] { LogDebug("not heard"); }), "");
  EXPECT_EQ(Captured([] {
              InitLog("x", LogLevel::kError);
              LogWarn("not heard");
            }),
            "");
  EXPECT_THAT(Captured([] {
                InitLog("x", LogLevel::kDebug);
                LogDebug("heard");
              }),
              HasSubstr(" debug x: heard\n"));
}

TEST(Log, OneEventStaysOneLine) {
  const std::string text = Captured([] { LogInfo("{}", "two\nlines \x1b[31m red"); });
  EXPECT_THAT(text, HasSubstr("two\\nlines \\x1b[31m red\n"));
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(Log, PercentsAndBracesAreOnlyText) {
  EXPECT_THAT(Captured([] {
                InitLog("100%v");
                LogInfo("{}", "{} %s %v");
              }),
              HasSubstr(" 100%v: {} %s %v\n"));
}

TEST(Log, LinesOfManyThreadsDoNotMix) {
  constexpr int kThreads = 4, kLines = 200;
  const std::string text = Captured([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < kLines; ++i) LogInfo("{:0>100}", i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), kThreads * kLines);
  const std::size_t width = text.size() / (kThreads * kLines);
  for (std::size_t i = width - 1; i < text.size(); i += width) ASSERT_EQ(text[i], '\n');
}

// Returns the output of a child process that logs to a terminal under the given environment.
std::string SaidToATerminal(const char* no_color) {
  int controller = -1, terminal = -1;
  if (::openpty(&controller, &terminal, nullptr, nullptr, nullptr) != 0) return "no terminal";
  const int status = StatusInChild([&] {
    ::dup2(terminal, STDERR_FILENO);
    ::setenv("TERM", "xterm-256color", 1);
    ::unsetenv("NO_COLOR");
    if (no_color != nullptr) ::setenv("NO_COLOR", no_color, 1);
    InitLog("child");
    LogWarn("said");
  });
  EXPECT_EQ(status, 0);
  std::string said(1000, '\0');
  const ssize_t size = ::read(controller, said.data(), said.size());
  said.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  ::close(terminal);
  ::close(controller);
  return said;
}

TEST(Log, ColourOnATerminalUnlessNoColorIsSet) {
  const std::string coloured = SaidToATerminal(nullptr);
  if (coloured == "no terminal") GTEST_SKIP() << "no pseudo terminals here";
  EXPECT_THAT(coloured, HasSubstr("\x1b["));
  EXPECT_THAT(coloured, HasSubstr("child: said"));
  EXPECT_THAT(SaidToATerminal(""), HasSubstr("\x1b["));  // empty means not set
  EXPECT_THAT(SaidToATerminal("1"), Not(HasSubstr("\x1b[")));
  EXPECT_THAT(SaidToATerminal("1"), HasSubstr(" warn  child: said"));
}

TEST(RateLimitedLog, SaysItOnceAPeriodAndCountsTheRest) {
  RateLimitedLog log(1000);
  const auto warn_at = [&](std::int64_t now_ms) {
    return Captured([&] { log.Warn(now_ms, "garbage from a peer"); });
  };
  EXPECT_THAT(warn_at(5), MatchesRegex(".* warn  learner: garbage from a peer\n"));
  EXPECT_EQ(warn_at(6), "");
  EXPECT_EQ(warn_at(1004), "");
  EXPECT_THAT(warn_at(1005), HasSubstr("garbage from a peer (2 more like this were not shown)\n"));
  EXPECT_EQ(warn_at(2004), "");
  EXPECT_THAT(warn_at(9000), HasSubstr("(1 more like this were not shown)\n"));
  EXPECT_THAT(warn_at(10'000), MatchesRegex(".* garbage from a peer\n"));
}

TEST(LevelOf, ReadsItsOwnLines) {
  const std::string text = Captured([] {
    InitLog("learner", LogLevel::kDebug);
    LogDebug("d");
    LogInfo("i");
    LogWarn("w");
    LogError("e");
  });
  std::vector<std::optional<LogLevel>> levels;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) levels.push_back(LevelOf(line));
  EXPECT_THAT(levels, testing::ElementsAre(LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn,
                                           LogLevel::kError));
}

TEST(LevelOf, OtherLinesHaveNone) {
  for (const char* line : {"", "warn", "01:02:03.456", "01:02:03.456 ", "01:02:03.456 loud  x: y",
                           "1:02:03.456 warn  x: y", "CHECK failed: a == b at learner.cc:7"}) {
    EXPECT_EQ(LevelOf(line), std::nullopt) << line;
  }
}

TEST(RateLimitedLog, PrintsSoManyLinesAPeriodAndCountsTheRest) {
  RateLimitedLog log(1000, 2);
  const auto said = [&](std::int64_t now_ms, const std::string& text) {
    return Captured([&] { log.Info(now_ms, text); });
  };
  EXPECT_THAT(said(500, "one"), HasSubstr("one\n"));
  EXPECT_THAT(said(600, "two"), HasSubstr("two\n"));
  EXPECT_THAT(said(700, "three"), IsEmpty());
  EXPECT_THAT(said(1499, "four"), IsEmpty());
  EXPECT_THAT(said(1500, "five"), HasSubstr("five (2 more like this were not shown)\n"));
  EXPECT_THAT(said(1501, "six"), HasSubstr("six\n"));
  EXPECT_THAT(said(2000, "seven"), IsEmpty());
}

}  // namespace
}  // namespace starling
