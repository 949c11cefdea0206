#include "monitor/console.h"

#include <gmock/gmock.h>
#include <pty.h>
#include <sys/ioctl.h>

#include <array>
#include <map>

#include "tests/support/fake_terminal.h"
#include "tests/support/fleet_fixtures.h"
#include "tests/support/pty.h"

namespace starling::monitor {
namespace {

Progress Halfway() {
  Progress progress;
  progress.phase = Progress::Phase::kRunning;
  progress.steps = 50;
  progress.total = 100;
  return progress;
}
constexpr const char* kBar20 = "[##---]  50% 50/100";

// The output of a console with this style.
class Screen {
 public:
  explicit Screen(const ConsoleStyle& style)
      : fd_(::open((dir_.path() / "screen").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)),
        console_(fd_, style) {}
  ~Screen() { ::close(fd_); }
  Console* operator->() { return &console_; }
  std::string Text() const { return dir_.Read("screen"); }

 private:
  TempDir dir_;
  int fd_;
  Console console_;
};

ConsoleStyle Terminal(bool color = false) {
  return {.terminal = true, .color = color, .utf8 = false, .width = 20};
}

TEST(ConsoleTest, LinesStayAboveABarThatIsDrawnOverItself) {
  Screen screen(Terminal());
  screen->Show(Halfway(), 0);
  const std::string once = screen.Text();
  screen->Show(Halfway(), 199);  // too early
  EXPECT_EQ(screen.Text(), once);
  screen->Show(Halfway(), 200);
  EXPECT_EQ(screen.Text(), once + once);
  screen->Print("hello", LogLevel::kWarn);
  FakeTerminal with_bar(20, 12), without(20, 12);
  with_bar.Feed(screen.Text());
  EXPECT_EQ(with_bar.All(), "hello\n" + std::string(kBar20) + "\n");
  screen->Clear();
  screen->Print("bye");
  without.Feed(screen.Text());
  EXPECT_EQ(without.All(), "hello\nbye\n");
}

// What a terminal shows by it: ATerminalShowsWhatStaysAndBelowItTheBlock.
TEST(ConsoleTest, OnlyTheLinesOfABlockThatChangedAreWritten) {
  Screen screen(Terminal());
  const auto written = [&](const Console::Lines& block, std::int64_t now_ms) {
    const std::size_t before = screen.Text().size();
    screen->DrawLines([&](const ProgressStyle&) { return block; }, now_ms);
    std::string letters = screen.Text().substr(before);
    std::erase_if(letters, [](char c) { return c != 'a' && c != 'B' && c != 'b' && c != 'c'; });
    return letters;
  };
  EXPECT_EQ(written({"a", "b", "c", ""}, 0), "abc");
  EXPECT_EQ(written({"a", "B", "c", ""}, 199), "") << "too early";
  screen->Hurry();
  EXPECT_EQ(written({"a", "B", "c", ""}, 199), "B") << "but for the last time";
  EXPECT_EQ(written({"a", "B", "c", ""}, 5000), "aBc") << "now and then all of it";
}

// Whatever is printed and drawn in whatever order: first all that stays, then the newest block.
TEST(ConsoleTest, ATerminalShowsWhatStaysAndBelowItTheBlock) {
  constexpr int kColumns = 20, kRows = 12;
  ConsoleStyle style = Terminal(/*color=*/true);
  style.height = kRows;
  Screen screen(style);
  FakeTerminal terminal(kColumns, kRows);
  std::string stays;
  std::size_t read = 0;
  for (int i = 0; i < 300; ++i) {
    Console::Lines block;
    for (int line = 0; line < i * 7 % 9; ++line) {
      block.push_back("line " + std::to_string(line) + (i * line % 3 == 0 ? " \u2588 new" : ""));
    }
    block.emplace_back();
    screen->DrawLines([&](const ProgressStyle&) { return block; }, 200 * i);
    if (i % 4 == 0) {
      screen->Print("this line stays where it is " + std::to_string(i), LogLevel::kWarn);
      stays += "this line stays wher\ne it is " + std::to_string(i) + "\n";
    }
    if (i % 50 == 49) {
      screen->Keep();
      for (const std::string& line : block) stays += line.empty() ? "" : line + "\n";
      block.clear();
    }
    const std::string text = screen.Text();
    terminal.Feed(text.substr(read));
    read = text.size();
    std::string wanted = stays;
    for (const std::string& line : block) wanted += line.empty() ? "" : line + "\n";
    ASSERT_EQ(terminal.All(), wanted) << i;
    ASSERT_TRUE(terminal.plain());
  }
}

TEST(ConsoleTest, WithoutProgressThereAreOnlyLinesThatStay) {
  for (const bool terminal : {false, true}) {
    ConsoleStyle style = Terminal();
    style.terminal = terminal;
    style.progress = false;
    Screen screen(style);
    screen->Show(Halfway(), 0);
    screen->Show(Halfway(), 10'000);
    EXPECT_FALSE(
        screen->DrawLines([](const ProgressStyle&) { return Console::Lines{"a"}; }, 20'000));
    screen->Print("hello");
    EXPECT_EQ(screen.Text(), "hello\n");
  }
}

TEST(ConsoleTest, OffATerminalALineEveryFiveSecondsAndNoEscapeCodes) {
  Screen screen({});
  screen->Show(Halfway(), 1000);  // nothing has happened yet
  screen->Show(Halfway(), 5999);
  EXPECT_EQ(screen.Text(), "");
  screen->Show(Halfway(), 6000);
  screen->Show(Halfway(), 10'999);
  screen->Print("oh", LogLevel::kError);
  screen->Show(Halfway(), 11'000);
  const std::string line = ProgressLine(Halfway()) + "\n";
  EXPECT_EQ(screen.Text(), line + "oh\n" + line);
}

TEST(ConsoleTest, TroubleIsColoured) {
  Screen screen(Terminal(/*color=*/true));
  screen->Print("so", LogLevel::kInfo);
  screen->Print("hm", LogLevel::kWarn);
  screen->Print("oh", LogLevel::kError);
  EXPECT_EQ(screen.Text(), "so\n\033[33mhm\033[0m\n\033[31moh\033[0m\n");
}

TEST(ConsoleTest, ControlCharactersOfAChildDoNotReachTheTerminal) {
  Screen screen({});
  screen->Print("a\033[2Jb\tc\r");
  EXPECT_EQ(screen.Text(), "a?[2Jb\tc?\n");
}

TEST(ConsoleTest, ClosedScreenIsNoTrouble) {
  Console console(-1, Terminal());
  console.Print("nobody listens");
  console.Show(Halfway(), 0);
}

// A terminal of our own, and the environment as it is given.
class StyleTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasPty()) GTEST_SKIP() << kNoPty;
    ASSERT_EQ(::openpty(&ours_, &theirs_, nullptr, nullptr, nullptr), 0);
    Set(kPlain);
  }
  ~StyleTest() override {
    ::close(ours_);
    ::close(theirs_);
  }
  static inline const std::map<std::string, std::string> kPlain = {
      {"TERM", "xterm"}, {"NO_COLOR", ""}, {"LC_ALL", ""}, {"LC_CTYPE", ""}, {"LANG", ""}};
  void Set(const std::map<std::string, std::string>& settings) {
    for (const auto& [name, value] : settings) ::setenv(name.c_str(), value.c_str(), 1);
  }
  int ours_ = -1, theirs_ = -1;
};

TEST_F(StyleTest, FollowsTheEnvironment) {
  const struct {
    const char* rule;
    std::map<std::string, std::string> settings;
    bool terminal, color, utf8;
  } cases[] = {
      {"a terminal has colour, and without a locale no blocks", {}, true, true, false},
      {"NO_COLOR keeps the bar", {{"NO_COLOR", "1"}}, true, false, false},
      {"a dumb terminal gets plain lines", {{"TERM", "dumb"}}, false, false, false},
      {"and one without a name", {{"TERM", ""}}, false, false, false},
      {"blocks need UTF-8", {{"LANG", "C.UTF-8"}}, true, true, true},
      {"LC_ALL is stronger", {{"LANG", "C.UTF-8"}, {"LC_ALL", "C"}}, true, true, false},
      {"both ways", {{"LC_ALL", "de_DE.utf8"}}, true, true, true},
  };
  for (const auto& [rule, settings, terminal, color, utf8] : cases) {
    Set(kPlain);
    Set(settings);
    const ConsoleStyle style = DetectStyle(theirs_);
    EXPECT_EQ(style.terminal, terminal) << rule;
    EXPECT_EQ(style.color, color) << rule;
    EXPECT_EQ(style.utf8, utf8) << rule;
  }
}

TEST_F(StyleTest, AFileGetsPlainLines) {
  const int file = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT_FALSE(DetectStyle(file).terminal);
  EXPECT_FALSE(DetectStyle(file).color);
  ::close(file);
}

TEST_F(StyleTest, TheTerminalIsAskedForItsWidthEachTime) {
  Set({{"NO_COLOR", "1"}});
  Console console(theirs_, DetectStyle(theirs_));
  const auto shown = [&](unsigned short columns, std::int64_t now_ms) {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::ioctl(theirs_, TIOCSWINSZ, &size), 0);
    console.Show(Halfway(), now_ms);
    std::array<char, 1000> buffer{};
    const ssize_t read = ::read(ours_, buffer.data(), buffer.size());
    return std::string(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
  };
  EXPECT_EQ(shown(20, 0), std::string("\r") + kBar20 + "\033[J");
  // The bar has 19 columns: wrapped, it takes four lines.
  EXPECT_EQ(shown(5, 1000), "\r\033[3A 50%\033[J");
  console.Clear();
}

}  // namespace
}  // namespace starling::monitor
