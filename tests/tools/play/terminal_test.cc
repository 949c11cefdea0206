// A terminal is restored on every way out. Signals: play_test.cc.
#include "tools/play/terminal.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "core/error.h"
#include "tests/support/pty.h"

namespace starling::play {
namespace {

class TerminalTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasPty()) GTEST_SKIP() << kNoPty;
    ::setenv("TERM", "xterm", 1);
    winsize size{};
    size.ws_col = 77;
    size.ws_row = 33;
    ASSERT_EQ(::openpty(&controller_, &terminal_, nullptr, nullptr, &size), 0);
  }
  void TearDown() override {
    ::close(controller_);
    ::close(terminal_);
  }
  tcflag_t Modes() const {
    termios now{};
    ::tcgetattr(terminal_, &now);
    return now.c_lflag;
  }
  std::string Shown() const {
    std::string shown;
    pollfd ready{.fd = controller_, .events = POLLIN, .revents = 0};
    while (::poll(&ready, 1, 0) == 1) {
      char bytes[1024];
      const ssize_t read = ::read(controller_, bytes, sizeof bytes);
      if (read <= 0) break;
      shown.append(bytes, static_cast<std::size_t>(read));
    }
    return shown;
  }

  int controller_ = -1, terminal_ = -1;
};

TEST_F(TerminalTest, IsRawWhileItIsHeldAndGivenBackAfterwards) {
  const tcflag_t before = Modes();
  {
    const Terminal terminal(terminal_, terminal_);
    EXPECT_EQ(Modes() & tcflag_t{ECHO | ICANON | ISIG}, 0u);
    EXPECT_EQ(Shown(), "\033[?1049h\033[?25l\033[2J");
  }
  EXPECT_EQ(Modes(), before);
  EXPECT_EQ(Shown(), "\033[0m\033[?25h\033[?1049l");
}

TEST_F(TerminalTest, HandlersAreThoseFromBeforeAfterwards) {
  struct sigaction before {
  }, during{}, after{};
  ::sigaction(SIGTERM, nullptr, &before);
  {
    const Terminal terminal(terminal_, terminal_);
    ::sigaction(SIGTERM, nullptr, &during);
  }
  ::sigaction(SIGTERM, nullptr, &after);
  EXPECT_NE(during.sa_handler, before.sa_handler);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

TEST_F(TerminalTest, ASignalIsToldOnce) {
  const Terminal terminal(terminal_, terminal_);
  pollfd stop{.fd = terminal.stop_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&stop, 1, 0), 0);
  ::raise(SIGTERM);
  EXPECT_EQ(::poll(&stop, 1, 0), 1);
}

TEST_F(TerminalTest, ASecondSignalEndsTheProcessAndGivesItBack) {
  GTEST_FLAG_SET(death_test_style, "fast");  // the child plays in our terminal
  const tcflag_t before = Modes();
  EXPECT_EXIT(
      {
        const Terminal terminal(terminal_, terminal_);
        ::raise(SIGTERM);
        ::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
  EXPECT_EQ(Modes(), before);
}

TEST_F(TerminalTest, KnowsItsSizeAndWhatIsTyped) {
  Terminal terminal(terminal_, terminal_);
  EXPECT_EQ(terminal.size().columns, 77);
  EXPECT_EQ(terminal.size().rows, 33);
  ASSERT_EQ(::write(controller_, "\033[A\003", 4), 4);
  EXPECT_EQ(terminal.Read(), "\033[A\003") << "Ctrl-C is a key";
  EXPECT_TRUE(terminal.Write("hello"));
  EXPECT_NE(Shown().find("hello"), std::string::npos);
}

TEST_F(TerminalTest, WhoeverIsNoTerminalIsRefused) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_THROW(Terminal(ends[0], terminal_), UserError);
  EXPECT_THROW(Terminal(terminal_, ends[1]), UserError);
  ::setenv("TERM", "dumb", 1);
  EXPECT_THROW(Terminal(terminal_, terminal_), UserError);
  EXPECT_EQ(Shown(), "");
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace starling::play
