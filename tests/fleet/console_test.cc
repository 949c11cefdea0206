#include "fleet/console.h"

#include <gmock/gmock.h>
#include <pty.h>
#include <sys/ioctl.h>

#include <array>
#include <cstdlib>
#include <map>

#include "tests/fleet/fixtures.h"
#include "tests/support/pty.h"

namespace starling::fleet {
namespace {

using testing::HasSubstr;
using testing::Not;

Progress Halfway() {
  Progress progress;
  progress.phase = Progress::Phase::kRunning;
  progress.steps = 50;
  progress.total = 100;
  return progress;
}
constexpr const char* kBar20 = "[##---]  50% 50/100";

// What a console with this style writes.
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

TEST(ConsoleTest, BarIsDrawnOverItself) {
  Screen screen(Terminal());
  screen->Show(Halfway(), 0);
  screen->Show(Halfway(), 199);  // too early
  screen->Show(Halfway(), 200);
  const std::string once = std::string("\r\033[K") + kBar20;
  EXPECT_EQ(screen.Text(), once + once);
}

TEST(ConsoleTest, AnyBarIsDrawnInTheSameWayAndOnATerminalOnly) {
  const auto bar = [](const ProgressStyle& style) { return std::to_string(style.width); };
  Screen screen(Terminal());
  screen->Draw(bar, 0);
  screen->Draw(bar, 199);  // too early
  screen->Print("hello");
  EXPECT_EQ(screen.Text(), "\r\033[K20\r\033[Khello\n20");
  Screen file({});
  file->Draw(bar, 0);
  EXPECT_EQ(file.Text(), "");
}

TEST(ConsoleTest, LinesStayAboveTheBar) {
  Screen screen(Terminal());
  screen->Show(Halfway(), 0);
  screen->Print("hello", LogLevel::kWarn);
  screen->Clear();
  screen->Print("bye");
  EXPECT_EQ(screen.Text(),
            std::string("\r\033[K") + kBar20 + "\r\033[Khello\n" + kBar20 + "\r\033[Kbye\n");
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
    Set({{"TERM", "xterm"}, {"NO_COLOR", ""}, {"LC_ALL", ""}, {"LC_CTYPE", ""}, {"LANG", ""}});
  }
  ~StyleTest() override {
    ::close(ours_);
    ::close(theirs_);
  }
  void Set(const std::map<std::string, std::string>& settings) {
    for (const auto& [name, value] : settings) ::setenv(name.c_str(), value.c_str(), 1);
  }
  int ours_ = -1, theirs_ = -1;
};

TEST_F(StyleTest, TerminalHasColour) {
  EXPECT_TRUE(DetectStyle(theirs_).terminal);
  EXPECT_TRUE(DetectStyle(theirs_).color);
}

TEST_F(StyleTest, NoColorIsHonouredAndKeepsTheBar) {
  Set({{"NO_COLOR", "1"}});
  EXPECT_TRUE(DetectStyle(theirs_).terminal);
  EXPECT_FALSE(DetectStyle(theirs_).color);
}

TEST_F(StyleTest, DumbTerminalAndFileGetPlainLines) {
  const int file = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT_FALSE(DetectStyle(file).terminal);
  EXPECT_FALSE(DetectStyle(file).color);
  ::close(file);
  Set({{"TERM", "dumb"}});
  EXPECT_FALSE(DetectStyle(theirs_).terminal);
  Set({{"TERM", ""}});
  EXPECT_FALSE(DetectStyle(theirs_).terminal);
}

TEST_F(StyleTest, BlocksNeedAUtf8Locale) {
  EXPECT_FALSE(DetectStyle(theirs_).utf8);
  Set({{"LANG", "C.UTF-8"}});
  EXPECT_TRUE(DetectStyle(theirs_).utf8);
  Set({{"LC_ALL", "C"}});  // stronger than LANG
  EXPECT_FALSE(DetectStyle(theirs_).utf8);
  Set({{"LC_ALL", "de_DE.utf8"}, {"LANG", ""}});
  EXPECT_TRUE(DetectStyle(theirs_).utf8);
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
  EXPECT_EQ(shown(20, 0), std::string("\r\033[K") + kBar20);
  EXPECT_EQ(shown(5, 1000), "\r\033[K 50%");
  console.Clear();
}

}  // namespace
}  // namespace starling::fleet
